"""A gotcha for people and for programs. Its texts are never read as markup."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from mbridge_skills.card.versions import satisfies
from mbridge_skills.card.view import value_text
from mbridge_skills.gotchas.gotcha import Applies, Fix, Gotcha
from mbridge_skills.releases.table import CORE_OF_BRIDGE

_INDENT = "  "
SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def page_lines(gotcha: Gotcha, width: int) -> Iterator[Text]:
    """The whole page, wrapped at ``width`` columns; a path or a name that is longer stays in one piece."""
    yield from wrapped(f"{gotcha.code}  {gotcha.title}", width, style="bold")
    yield Text.assemble(
        (gotcha.severity, SEVERITY_STYLES[gotcha.severity]),
        f", {gotcha.confidence}, {_phase_text(gotcha)}",
    )
    yield from wrapped(f"Releases: {applies_text(gotcha.applies) or 'all'}", width, hang=_INDENT)
    affected = ", ".join(affected_releases(gotcha)) or "none"
    yield from wrapped(f"Of the known Megatron-Bridge releases: {affected}", width, hang=_INDENT)
    yield from _section("When", [gotcha.when.text], width)
    yield from _section("Raises", _raises(gotcha), width, mark="- ")
    changes = [f"{path} becomes {_becomes_text(value)}" for path, value in gotcha.becomes.items()]
    yield from _section("Changed silently", changes, width)
    if gotcha.fix is not None:
        yield from _section(f"Fix ({safety_text(gotcha.fix)})", fix_texts(gotcha.fix), width)
    for paragraph in gotcha.body.split("\n\n"):
        yield Text()
        yield from _paragraph(paragraph, width)
    yield from _section("Recognised in a log by", list(gotcha.log), width, mark="- ")
    yield from _section("Sources", list(gotcha.sources), width, mark="- ")
    yield from _section("Verified on", list(gotcha.verified_on), width, mark="- ")


def page_data(gotcha: Gotcha) -> dict[str, Any]:
    """The page for programs. Settings that become what another one is are written ``{"same_as": path}``."""
    return {
        "code": gotcha.code,
        "title": gotcha.title,
        "severity": gotcha.severity,
        "confidence": gotcha.confidence,
        "applies": dict(gotcha.applies),
        "releases": list(affected_releases(gotcha)),
        "when": gotcha.when.text,
        "phase": gotcha.phase,
        "raises": [
            {"applies": dict(one.applies), "exception": one.exception, "message": one.message}
            for one in gotcha.raises
        ],
        "becomes": dict(gotcha.becomes),
        "fix": None if gotcha.fix is None else fix_data(gotcha.fix),
        "log": list(gotcha.log),
        "body": gotcha.body,
        "sources": list(gotcha.sources),
        "verified_on": list(gotcha.verified_on),
    }


def affected_releases(gotcha: Gotcha) -> tuple[str, ...]:
    """The known Megatron-Bridge releases, with the megatron-core that each pins, to which it applies."""
    return tuple(
        bridge
        for bridge, core in CORE_OF_BRIDGE.items()
        if _holds(gotcha.applies, "megatron-bridge", bridge) and _holds(gotcha.applies, "megatron-core", core)
    )


def applies_text(applies: Applies) -> str:
    """In words; empty where it holds for all releases."""
    return " and ".join(f"{name} {specifier}" for name, specifier in applies.items())


def fix_texts(fix: Fix) -> list[str]:
    """The settings as assignments, then the variables, then the note."""
    texts = [f"{path} = {value_text(value)}" for path, value in fix.settings.items()]
    texts += [
        f"unset {name}" if value is None else f"export {name}={value}"
        for name, value in fix.environment.items()
    ]
    return texts + ([fix.note] if fix.note else [])


def safety_text(fix: Fix) -> str:
    """Whether it may be applied without a thought."""
    return "safe" if fix.safe else "not safe: it changes what was asked for"


def fix_data(fix: Fix) -> dict[str, Any]:
    """A fix for programs."""
    return {
        "set": dict(fix.settings),
        "env": dict(fix.environment),
        "safe": fix.safe,
        "note": fix.note,
    }


def wrapped(text: str, width: int, *, indent: str = "", hang: str = "", style: str = "") -> Iterator[Text]:
    """``text`` in lines of at most ``width`` columns; ``hang`` is put before all but the first as well."""
    lines = textwrap.wrap(
        " ".join(text.split()),
        max(width, 20),
        initial_indent=indent,
        subsequent_indent=indent + hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        yield Text(line, style)


def _holds(applies: Applies, name: str, version: str) -> bool:
    return name not in applies or satisfies(applies[name], version) is True


def _phase_text(gotcha: Gotcha) -> str:
    return "changed silently" if gotcha.phase == "silent" and gotcha.becomes else f"phase: {gotcha.phase}"


def _becomes_text(value: Any) -> str:
    return f"what {value['same_as']} is" if isinstance(value, Mapping) else value_text(value)


def _raises(gotcha: Gotcha) -> list[str]:
    texts = []
    for one in gotcha.raises:
        message = one.message or "(without a message)"
        releases = applies_text(one.applies)
        texts.append(f"{releases + ': ' if releases else ''}{one.exception}: {message}")
    return texts


def _section(title: str, texts: list[str], width: int, mark: str = "") -> Iterator[Text]:
    if texts:
        yield Text()
        yield Text(title, "bold")
        for text in texts:
            yield from wrapped(mark + text, width, indent=_INDENT, hang=_INDENT)


def _paragraph(paragraph: str, width: int) -> Iterator[Text]:
    """Prose is wrapped anew; lists and code keep their lines."""
    lines = paragraph.splitlines()
    if any(line[:1] in "-*|`" or line[:1].isspace() for line in lines):
        yield from (Text(line) for line in lines)
    else:
        yield from wrapped(paragraph, width)
