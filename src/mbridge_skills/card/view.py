"""A card for people to read on a terminal. Texts of the card are never read as markup."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.text import Text

from mbridge_skills.card import model

LEVEL_STYLES = {"recommended": "green", "conditional": "yellow", "experimental": "magenta", "avoid": "red"}
_STATUS_STYLES = {"known_failure": "red", "not_verified": "yellow", "unclear": "yellow"}
_INDENT = "  "


def card_lines(card: model.Card, width: int) -> Iterator[Text]:
    """Everything that a reader decides by: level, statuses, settings, how to verify, evidence with dates.

    Sentences are wrapped at ``width`` columns; a path or a name that is longer stays in one piece.
    """
    yield Text.assemble((card.name, "bold"), "  ", card.title)
    yield from _wrapped(card.summary, width, _INDENT)
    yield Text()
    yield Text.assemble("Level: ", (card.level, LEVEL_STYLES[card.level]), f"   Stability: {card.stability}")
    yield from _wrapped(card.level_reason, width, _INDENT)
    yield from _wrapped(f"Validated: {validation_text(card)}", width, "", hang=_INDENT)
    inner = width - len(_INDENT)
    sections: Mapping[str, Iterable[Text]] = {
        "Validation status": _statuses(card, inner),
        "Recommended path": _assignments(card.recommended_path),
        "Overrides by release": _overrides(card, inner),
        "Constraints": _bullets(card.constraints, inner),
        "Limitations": _bullets(card.limitations, inner),
        "Verify": _blocks(card, inner),
        "Evidence": _evidence(card, inner),
        "Follow up": _bullets(card.follow_up, inner),
    }
    for title, section in sections.items():
        lines = list(section)
        if lines:
            yield Text()
            yield Text(title, "bold")
            yield from (Text(_INDENT) + line for line in lines)


def validation_text(card: model.Card) -> str:
    """When, and under which label with which versions, the card was last validated."""
    if card.validated_on is None:
        return "not yet (no run under evidence has passed)"
    labels = []
    for label, packages in card.validated_with.items():
        versions = ", ".join(" ".join([name, *found]) for name, found in packages.items())
        labels.append(f"{label} ({versions})")
    return f"{card.validated_on}, {'; '.join(labels)}"


def value_text(value: Any) -> str:
    """A setting's value as Python writes it; a mapping with ``_target_`` and no call as its target."""
    if isinstance(value, Mapping) and value.get("_call_") is False and "_target_" in value:
        return str(value["_target_"])
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _assignments(settings: Mapping[str, Any]) -> Iterator[Text]:
    for key, value in settings.items():
        yield Text(f"{key} = {value_text(value)}")


def _statuses(card: model.Card, width: int) -> Iterator[Text]:
    slugs = max(map(len, card.validation_status))
    words = max(len(status.status) for status in card.validation_status.values())
    for slug, status in card.validation_status.items():
        style = _STATUS_STYLES.get(status.status, "green")
        line = Text.assemble(slug.ljust(slugs), "  ", (status.status, style))
        if status.on:
            line.append(" " * (words - len(status.status)) + f"  {status.on}")
        yield line
        if status.note:
            yield from _wrapped(status.note, width, _INDENT, style="dim")


def _overrides(card: model.Card, width: int) -> Iterator[Text]:
    for override in card.version_overrides:
        yield Text(" and ".join(f"{package} {specifier}" for package, specifier in override.when.items()))
        yield from (Text(_INDENT) + line for line in _assignments(override.set))
        yield from _wrapped(override.reason, width, _INDENT, style="dim")


def _blocks(card: model.Card, width: int) -> Iterator[Text]:
    for block in card.verify:
        yield Text.assemble((block.id, "bold"), f"  tier {block.tier}, evidence {block.label}")
        for line in _block_lines(block):
            yield from _wrapped(line, width, _INDENT, hang=_INDENT * 2)


def _block_lines(block: model.VerifyBlock) -> Iterator[str]:
    yield block.title
    needs = [f"{block.needs.processes} processes"]
    needs += [f"{block.needs.gpus} GPUs"] if block.needs.gpus else []
    needs += ["a Megatron-Bridge checkout"] if block.needs.bridge_checkout else []
    needs += [f"{name} {specifier}" for name, specifier in block.needs.packages.items()]
    yield f"needs: {', '.join(needs)}"
    names = (spec.id if spec.required else f"{spec.id} (optional)" for spec in block.criteria)
    yield f"criteria: {', '.join(names)}"
    yield f"timeout {block.timeout_s:g} s, stall limit {block.stall_s:g} s"
    if block.test:
        yield f"test: {block.test}"
    yield f"command: {' '.join(map(_shell_word, block.command))}"


def _shell_word(word: str) -> str:
    """Quoted for a shell, but with the placeholders bare, for reading."""
    return word if re.fullmatch(r"[\w@%+=:,./{}-]+", word) else shlex.quote(word)


def _evidence(card: model.Card, width: int) -> Iterator[Text]:
    for entry in card.evidence:
        kind, lines = _reference(entry)
        yield Text.assemble((entry.id, "bold"), f"  {kind}")
        for line in lines:
            yield from _wrapped(line, width, _INDENT)
        if entry.note:
            yield from _wrapped(entry.note, width, _INDENT, style="dim")


def _reference(entry: model.Evidence) -> tuple[str, list[str]]:
    """What kind of evidence it is, with its place or date, and where to look."""
    match entry:
        case model.PathEvidence():
            return f"{entry.repository} {entry.release}", [entry.path]
        case model.SymbolEvidence():
            return f"{entry.repository} {entry.release}", [entry.symbol]
        case model.UrlEvidence():
            return "page", [entry.url]
        case model.RunEvidence():
            versions = ", ".join(f"{name} {version}" for name, version in entry.versions.items())
            report = [entry.report] if entry.report else []
            return f"{entry.date}  {entry.block} {entry.verdict}, {entry.label}", [versions, *report]
    raise TypeError(f"unknown evidence: {entry!r}")


def _bullets(texts: tuple[str, ...], width: int) -> Iterator[Text]:
    for text in texts:
        yield from _wrapped(f"- {text}", width, "", hang=_INDENT)


def _wrapped(
    text: str, width: int, indent: str, *, hang: str | None = None, style: str = ""
) -> Iterator[Text]:
    lines = textwrap.wrap(
        " ".join(text.split()),
        max(width, 20),
        initial_indent=indent,
        subsequent_indent=indent if hang is None else hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        yield Text(line, style)
