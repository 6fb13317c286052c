"""Text for a person: a table of criteria per block that ran, a line for each that did not."""

from __future__ import annotations

import io
import re

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mbridge_skills.criteria.base import Verdict
from mbridge_skills.verify.report import BlockReport, Status, VerifyReport

_STYLES = {
    str(Verdict.PASSED): "green",
    str(Verdict.FAILED): "bold red",
    str(Verdict.NOT_JUDGED): "yellow",
    str(Status.NOT_VERIFIED): "yellow",
}
_DEFAULT_WIDTH = 100
_LONGEST_DETAIL = 240  # characters
# A log may hold escape sequences; on a terminal they would do what they say.
# Lone surrogates, which a JSON marker may name, cannot even be printed.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def render(report: VerifyReport, *, width: int | None, colour: bool) -> str:
    """The report for a terminal ``width`` columns wide."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or _DEFAULT_WIDTH,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
    )
    console.print(Text(f"verify {report.skill}  ({report.date})", style="bold"))
    for block in report.blocks:
        console.print()
        _print_block(console, block)
    console.print()
    console.print(_styled(f"result: {report.status}", str(report.status)))
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _print_block(console: Console, block: BlockReport) -> None:
    console.print(Text.assemble((f"{block.block}", "bold"), f"  {block.title}  ", _styled_part(block)))
    if block.reason:
        remedy = f"  (help: {block.remedy})" if block.remedy else ""
        console.print(Text(f"  {_plain(block.reason)}{remedy}"))
    if block.criteria:
        console.print(_table(block))
        _print_details(console, block)
    evidence = block.evidence or {}
    if evidence.get("versions"):
        versions = ", ".join(f"{name} {version}" for name, version in evidence["versions"].items())
        console.print(Text(_plain(f"with {versions}"), style="dim"))
    for note in (*block.notes, *evidence.get("run", {}).get("deviations", ())):
        console.print(Text(_plain(f"note: {note}")))
    for name, path in (("evidence", block.evidence_file), ("log", block.log)):
        if path:
            console.print(Text(f"{name}: {path}"), soft_wrap=True)  # a path in one piece can be copied


def _styled_part(block: BlockReport) -> tuple[str, str]:
    label = f", {_plain(str(block.label))}" if block.label else ""
    seconds = f", {block.seconds:.0f} s" if block.seconds is not None else ""
    return f"[{block.status}{label}{seconds}]", _STYLES.get(str(block.status), "")


def _table(block: BlockReport) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim")
    table.add_column("verdict", no_wrap=True)
    table.add_column("criterion", no_wrap=True)
    table.add_column("found", overflow="fold")
    table.add_column("limit", overflow="fold")
    for result in block.criteria:
        judgement = result.judgement
        verdict = _styled(str(judgement.verdict), str(judgement.verdict))
        name = result.id if result.required else f"{result.id} (optional)"
        value, limit = Text(_plain(judgement.value)), Text(_plain(judgement.limit), style="dim")
        table.add_row(verdict, Text(name), value, limit)
    return table


def _print_details(console: Console, block: BlockReport) -> None:
    """What else helps with a criterion that did not pass; one log line each, shortened."""
    for result in block.criteria:
        if result.verdict is Verdict.PASSED or not result.judgement.detail:
            continue
        for line in result.judgement.detail.splitlines():
            text = _plain(line)
            text = text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}..."
            console.print(Text(f"  {result.id}: {text}"))


def _styled(text: str, key: str) -> Text:
    return Text(text, style=_STYLES.get(key, ""))


def _plain(text: str) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
