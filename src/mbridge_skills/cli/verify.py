"""``skill run verify``: run a skill's verification, or judge a log, and report."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbridge_skills.errors import InputError, Location
from mbridge_skills.exit_codes import ExitCode

if TYPE_CHECKING:
    from mbridge_skills.logs.summary import LogSummary

_SMOKE_OPTIONS = "mbridge_skills.smoke_options"


class _VerifyCommand(click.Command):
    """Sets aside what stands behind ``--``: options of the smoke program, not of this command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            split = args.index("--")
            ctx.meta[_SMOKE_OPTIONS] = tuple(args[split + 1 :])
            args = args[:split]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- SMOKE OPTIONS]"]


@click.command(name="verify", cls=_VerifyCommand)
@click.argument("skill", required=False)
@click.option(
    "--tier",
    type=click.Choice(["auto", "cpu", "gpu", "bridge"]),
    default="auto",
    show_default=True,
    help="Where to run; auto: the highest tier that can run here.",
)
@click.option(
    "--bridge", type=click.Path(path_type=Path), help="A Megatron-Bridge checkout, for tier bridge."
)
@click.option("--from-log", type=click.Path(path_type=Path), help="Judge this log in place of running.")
@click.option("--block", help="With --from-log: the verify block whose criteria to judge by.")
@click.option(
    "--processes", type=click.IntRange(min=2), help="Number of processes, in place of the verify block's."
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="End the run after S seconds.")
@click.option(
    "--stall", type=click.FloatRange(min=0, min_open=True), help="Call it a hang after S seconds of silence."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit"]),
    default="text",
    show_default=True,
    help="Form of the report on standard output.",
)
@click.option("--report", type=click.Path(path_type=Path), help="Folder for the evidence file and the log.")
@click.option("--write-card", is_flag=True, help="Record a passed run in the skill's card.")
@click.option("--bundle", type=click.Path(path_type=Path), help="The bundle's folder.")
@click.pass_context
def command(
    ctx: click.Context,
    skill: str | None,
    tier: str,
    bridge: Path | None,
    from_log: Path | None,
    block: str | None,
    processes: int | None,
    timeout: float | None,
    stall: float | None,
    form: str,
    report: Path | None,
    write_card: bool,
    bundle: Path | None,
) -> int:
    """Run the smoke test of SKILL, parse its log and decide the success criteria.

    Options of the smoke program follow after --, to rehearse another layout:
    mbridge-skills run verify --tier cpu -- --strategy optim_grads --dtype bf16 --microbatches 4

    Exit codes: 0 passed, 1 failed, 2 usage or configuration, 3 could not run (not verified).
    """
    from mbridge_skills.bundle.locate import find_bundle
    from mbridge_skills.card.load import load_card
    from mbridge_skills.reporters import render

    smoke_options: tuple[str, ...] = ctx.meta.get(_SMOKE_OPTIONS, ())
    found = find_bundle(bundle)
    chosen = found.skill(skill)
    card = load_card(chosen.card_path)

    if from_log is not None:
        _refuse_beside_log(ctx, smoke_options, write_card)
        from mbridge_skills.verify.from_log import judge_log

        wanted = card.block(block) if block else None
        result = judge_log(card, _summary_of(from_log), wanted, from_log)
    else:
        if block:
            raise InputError(
                "--block goes with --from-log; a run is chosen by --tier",
                remedy="give --from-log FILE as well",
            )
        from rich.console import Console

        from mbridge_skills.verify.plan import Plan, Request
        from mbridge_skills.verify.progress import Progress
        from mbridge_skills.verify.session import Options, verify

        request = Request(bridge, smoke_options, processes)
        if write_card:
            from mbridge_skills.verify.recording import refuse_if_impossible

            refuse_if_impossible(found, request)
        if report is not None:
            _prepare_folder(report)
        console = Console(stderr=True)

        def progress(planned: Plan) -> Progress:
            return Progress(console, planned.block.id)

        options = Options(tier, request, timeout, stall, report)
        result = verify(card, options, progress)
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = os.get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo(render(result, form, width=width, colour=colour), nl=False, color=colour)
    if write_card:
        from mbridge_skills.verify.recording import record

        recorded = record(found, chosen, result)
        names = ", ".join(entry.block for entry in recorded)
        click.echo(f"recorded in the card: {names}" if names else "nothing passed: card unchanged", err=True)
    return int(ExitCode(result.exit_code))


def _refuse_beside_log(ctx: click.Context, smoke_options: tuple[str, ...], write_card: bool) -> None:
    """Options of a run say nothing about a log; to pass over them would look as if they had been followed."""
    given = [
        f"--{name}"
        for name in ("tier", "bridge", "processes", "timeout", "stall", "report")
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]
    for name in [*given, *(["options after --"] if smoke_options else [])]:
        raise InputError(
            f"{name} and --from-log exclude each other: nothing is run",
            remedy=f"leave out {name}, or --from-log",
        )
    if write_card:
        raise InputError(
            "a log alone is no evidence of a run: it has neither versions nor an exit status",
            remedy="leave out --write-card, or run the verification",
        )


def _summary_of(log: Path) -> LogSummary:
    from mbridge_skills.logs.summary import summarise_file

    try:
        return summarise_file(log)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read the log: {reason}", where=Location(log)) from error


def _prepare_folder(folder: Path) -> None:
    """Find out before a long run that its result could not be kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the report folder: {error.strerror}", where=Location(folder)
        ) from error
    if not os.access(folder, os.W_OK):
        raise InputError("the report folder is not writable", where=Location(folder))
