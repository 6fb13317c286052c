"""``skill run check``: what a configuration would run into, release by release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbridge_skills.errors import InputError
from mbridge_skills.exit_codes import ExitCode
from mbridge_skills.releases.devices import CAPABILITIES

if TYPE_CHECKING:
    from mbridge_skills.gotchas.batch import Batch


@click.command("check")
@click.option(
    "--batch",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE.jsonl[.gz]",
    help='Records {"id", "config": {"ddp.use_megatron_fsdp": true, ...}, "world_size", "device_cc", "env"}.',
)
@click.option("--bridge-version", metavar="V", help="Megatron-Bridge release to judge for.")
@click.option("--core-version", metavar="V", help="Megatron-Core release; by default the one Bridge pins.")
@click.option("--world-size", type=click.IntRange(min=1), metavar="N", help="Number of GPUs.")
@click.option("--device", type=click.Choice(list(CAPABILITIES), case_sensitive=False), help="Kind of GPU.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="A variable that the run has.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
@click.option("--skill", "name", metavar="NAME", help="The skill whose gotchas are judged.")
@click.option("--bundle", type=click.Path(path_type=Path), metavar="DIR", help="The bundle to read.")
def command(
    batch: Path,
    bridge_version: str | None,
    core_version: str | None,
    world_size: int | None,
    device: str | None,
    variables: tuple[str, ...],
    exit_zero: bool,
    name: str | None,
    bundle: Path | None,
) -> int:
    """Predict what Megatron-Bridge does with the configurations of a file, without Megatron or torch.

    Prints one JSON object a line: id, verdict and findings. The verdict is that of the release's own
    validate(): ok, error, or unknown where it depends on something not given. Findings of later phases are
    listed too. A setting that a record does not have is the release's default; where it names no model, a
    small one with 8 layers is assumed. World size, device and environment of a record win over the options.

    Exit codes: 0 no verdict is error, 1 one is, 2 usage.
    """
    from mbridge_skills.bundle.locate import find_bundle
    from mbridge_skills.gotchas.batch import Batch, Surroundings
    from mbridge_skills.gotchas.judge import Judge
    from mbridge_skills.gotchas.load import load_gotchas
    from mbridge_skills.releases.detect import find_stack
    from mbridge_skills.releases.table import REFERENCE_MODEL

    stack = find_stack(bridge_version, core_version, Path.cwd())
    if stack.assumed:
        click.echo(f"release unknown: judged for {stack.release} (--bridge-version names another)", err=True)
    gotchas = load_gotchas(find_bundle(bundle, check_card=False).skill(name).folder)
    judge = Judge(gotchas, stack.release, versions=stack.others, assumed=REFERENCE_MODEL)
    capability = CAPABILITIES[device.lower()] if device else None
    surroundings = Surroundings(world_size, capability, _environment(variables))
    failed = _print(Batch(judge, surroundings), batch)
    return ExitCode.OK if exit_zero or not failed else ExitCode.FAILED


def _environment(variables: tuple[str, ...]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for text in variables:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(f"--env {text}: expected NAME=VALUE")
        found[name] = value
    return found


def _print(batch: Batch, path: Path) -> bool:
    """Print a line per record; returns whether a verdict is error."""
    failed = False
    write = sys.stdout.write
    for identity, judgement in batch.results(path):
        failed = failed or judgement.verdict == "error"
        write(batch.line(identity, judgement) + "\n")
    return failed
