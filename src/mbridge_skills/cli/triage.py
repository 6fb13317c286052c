"""``skill run triage``: which gotcha explains the failure in a log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbridge_skills.errors import InputError, Location
from mbridge_skills.exit_codes import ExitCode

if TYPE_CHECKING:
    from mbridge_skills.triage.result import Triage

FORMAT = "skill-triage/1"


@click.command("triage")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--skill", "name", metavar="NAME", help="The skill whose gotchas are tried.")
@click.option("--bundle", type=click.Path(path_type=Path), metavar="DIR", help="The bundle to read.")
def command(logs: tuple[Path, ...], form: str, name: str | None, bundle: Path | None) -> int:
    """Say which gotcha explains the failure in each LOG, plain or gzipped: the evidence line and the fix.

    A failure that no gotcha matches is unknown, and its root cause is printed: the rank that failed first,
    with exception and message.

    Exit codes: 0 every failure is explained or there is none, 1 one is unknown, 2 a log cannot be read.
    """
    from mbridge_skills.bundle.locate import find_bundle
    from mbridge_skills.gotchas.load import load_gotchas
    from mbridge_skills.triage.file import triage_file

    gotchas = load_gotchas(find_bundle(bundle, check_card=False).skill(name).folder)
    found: list[tuple[Path, Triage]] = []
    unreadable = False
    for path in logs:
        try:
            found.append((path, triage_file(path, gotchas)))
        except (OSError, EOFError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            problem = InputError(f"cannot read the log: {reason}", where=Location(path))
            click.echo(f"error: {problem}", err=True)
            unreadable = True
    if found or form == "json":
        _print(found, form)
    if unreadable:
        return ExitCode.USAGE
    unknown = any(triage.status == "unknown" for _, triage in found)
    return ExitCode.FAILED if unknown else ExitCode.OK


def _print(found: list[tuple[Path, Triage]], form: str) -> None:
    from mbridge_skills.triage.report import report_data, report_lines

    if form == "json":
        data = {"format": FORMAT, "logs": [report_data(path, triage) for path, triage in found]}
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for number, (path, triage) in enumerate(found):
        if number:
            console.print()
        for line in report_lines(path, triage, console.width):
            console.print(line, soft_wrap=True)
