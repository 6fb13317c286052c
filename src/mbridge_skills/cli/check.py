"""``skill run check``: what a configuration would run into, release by release."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbridge_skills.errors import InputError
from mbridge_skills.exit_codes import ExitCode
from mbridge_skills.releases.devices import CAPABILITIES

if TYPE_CHECKING:
    from mbridge_skills.checking.report import CheckReport
    from mbridge_skills.gotchas.batch import Batch


@click.command("check")
@click.argument("paths", nargs=-1, metavar="PATH...", type=click.Path(path_type=Path))
@click.option(
    "--overrides", metavar="TEXT", help='Overrides on top, for instance "ddp.use_megatron_fsdp=true".'
)
@click.option(
    "--batch",
    type=click.Path(path_type=Path),
    metavar="FILE.jsonl[.gz]",
    help='Records {"id", "config": {"ddp.use_megatron_fsdp": true, ...}, "world_size", "device_cc", "env"}.',
)
@click.option("--bridge-version", metavar="V", help="Megatron-Bridge release to judge for.")
@click.option("--core-version", metavar="V", help="Megatron-Core release; by default the one Bridge pins.")
@click.option("--world-size", type=click.IntRange(min=1), metavar="N", help="Number of GPUs.")
@click.option("--device", type=click.Choice(list(CAPABILITIES), case_sensitive=False), help="Kind of GPU.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="A variable that the run has.")
@click.option("--select", metavar="CODES", help="Only these codes or families, for instance MB1,MB204.")
@click.option("--ignore", metavar="CODES", help="Not these codes or families.")
@click.option(
    "--possible",
    is_flag=True,
    help="Also what holds only if a value that could not be determined is not the release's default.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "concise", "json", "sarif", "junit", "github"]),
    default="text",
    show_default=True,
    help="Form of the report.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
@click.option("--skill", "name", metavar="NAME", help="The skill whose gotchas are judged.")
@click.option("--bundle", type=click.Path(path_type=Path), metavar="DIR", help="The bundle to read.")
def command(
    paths: tuple[Path, ...],
    overrides: str | None,
    batch: Path | None,
    bridge_version: str | None,
    core_version: str | None,
    world_size: int | None,
    device: str | None,
    variables: tuple[str, ...],
    select: str | None,
    ignore: str | None,
    possible: bool,
    form: str,
    exit_zero: bool,
    name: str | None,
    bundle: Path | None,
) -> int:
    """Predict what a training run would run into: recipes, training scripts, YAML, launch scripts.

    Nothing is imported or run. Folders are walked. A script, a YAML and a launch script named together are
    layers of one configuration. With --batch, flat configurations are judged, one JSON object a line.

    A finding is silenced by a comment on its line, with a reason: # skill: ignore[MB101] the reason

    Exit codes: 0 nothing found, 1 errors or warnings found, 2 usage or unreadable input.
    """
    from mbridge_skills.bundle.locate import find_bundle
    from mbridge_skills.gotchas.judge import Judge
    from mbridge_skills.gotchas.load import load_gotchas
    from mbridge_skills.releases.detect import find_stack
    from mbridge_skills.releases.table import REFERENCE_MODEL

    if bool(paths) == (batch is not None):
        raise InputError(
            "name what to check: either files and folders, or --batch FILE",
            remedy="mbridge-skills run check train.py",
        )
    stack = find_stack(bridge_version, core_version, Path.cwd())
    if stack.assumed:
        click.echo(f"release unknown: judged for {stack.release} (--bridge-version names another)", err=True)
    gotchas = load_gotchas(find_bundle(bundle, check_card=False).skill(name).folder)
    capability = CAPABILITIES[device.lower()] if device else None
    environment = _environment(variables)
    if batch is not None:
        from mbridge_skills.gotchas.batch import Batch as FlatBatch
        from mbridge_skills.gotchas.batch import Surroundings as FlatSurroundings

        judge = Judge(gotchas, stack.release, versions=stack.others, assumed=REFERENCE_MODEL)
        around = FlatSurroundings(world_size, capability, environment)
        failed = _print_batch(FlatBatch(judge, around), batch)
        return ExitCode.OK if exit_zero or not failed else ExitCode.FAILED

    from mbridge_skills.checking.run import Selection, Surroundings, check
    from mbridge_skills.checking.sources import collect

    judge = Judge(gotchas, stack.release, versions=stack.others)
    selection = Selection(_codes(select), _codes(ignore), possible)
    report = check(
        collect(paths, overrides),
        judge,
        stack,
        Surroundings(world_size, capability, environment),
        selection,
    )
    _print(report, form)
    return ExitCode.OK if exit_zero else _exit_code(report)


def _exit_code(report: CheckReport) -> ExitCode:
    if report.unreadable:
        return ExitCode.USAGE
    serious = any(each.finding.gotcha.severity != "info" for each in report.findings)
    return ExitCode.FAILED if serious else ExitCode.OK


def _print(report: CheckReport, form: str) -> None:
    from mbridge_skills.checking.reporters import render

    terminal = sys.stdout.isatty()
    colour = terminal and "NO_COLOR" not in os.environ
    width = os.get_terminal_size().columns if terminal else None
    click.echo(render(report, form, width=width, colour=colour), nl=False, color=colour)


def _codes(text: str | None) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in (text or "").split(",") if code.strip())


def _environment(variables: tuple[str, ...]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for text in variables:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(f"--env {text}: expected NAME=VALUE")
        found[name] = value
    return found


def _print_batch(batch: Batch, path: Path) -> bool:
    """Print a line per record; returns whether a verdict is error."""
    failed = False
    write = sys.stdout.write
    for identity, judgement in batch.results(path):
        failed = failed or judgement.verdict == "error"
        write(batch.line(identity, judgement) + "\n")
    return failed
