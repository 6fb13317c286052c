"""Writing a passed run into a card. The rest of the file stays as it is, to the byte."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mbridge_skills import atomic
from mbridge_skills.card import derive
from mbridge_skills.card.problems import CardProblem, input_error
from mbridge_skills.card.reader import Document, parse_document, read_document
from mbridge_skills.card.schema import schema_problems
from mbridge_skills.card.splice import Splicer
from mbridge_skills.card.validate import problems_of
from mbridge_skills.errors import InputError, Location

_RUN_KEYS = (
    "type", "id", "date", "block", "tier", "label", "verdict", "versions", "command", "report", "note",
)  # fmt: skip
_REFUSED = "with this run the card would be invalid, so that it was not recorded"


def record_run(path: Path, run: Mapping[str, Any]) -> bool:
    """Add ``run`` to the evidence of the card at ``path`` and derive validated_on and validated_with anew.

    ``run`` has the keys of a run entry: date, block, tier, label, verdict, versions, command, perhaps report,
    note and id. It takes the place (and the id) of an older run of the same block with the same versions; an
    older ``run`` than that changes nothing. Returns whether the file changed.

    Raises:
        InputError: the verdict is not "passed", or the card is or would be invalid; the file
            is then untouched.
        OSError: the file cannot be written; it is then untouched.
    """
    if run.get("verdict") != "passed":
        raise InputError(
            f"only a passed run is recorded, and this one is {run.get('verdict') or 'without verdict'}",
            where=Location(path),
        )
    document = read_document(path)
    _refuse(path, problems_of(document), "the card is invalid, so that nothing was recorded in it")
    entry = _entry(run)
    _refuse(path, schema_problems(Document(path, "", entry), "card.strict", "run_evidence"), _REFUSED)
    wanted = copy.deepcopy(document.data)
    evidence = wanted["evidence"]
    known = _same_run(evidence, entry)
    if known is not None:
        entry["id"] = evidence[known]["id"]
        if evidence[known] == entry or str(evidence[known]["date"]) > entry["date"]:
            return False
    elif not run.get("id"):
        entry["id"] = _new_id(entry, evidence)

    splicer = Splicer(document)
    if known is None:
        evidence.append(entry)
        splicer.add_item(("evidence",), entry)
    else:
        evidence[known] = entry
        splicer.replace_item(("evidence", known), entry)
    for key, value in (
        ("validated_on", derive.validated_on(evidence)),
        ("validated_with", derive.validated_with(evidence)),
    ):
        if wanted.get(key) != value:
            wanted[key] = value
            splicer.set_key((key,), value)
    changed = parse_document(splicer.text(), path)
    _refuse(
        path, problems_of(changed), "with this run the card would be invalid, so that it was not recorded"
    )
    _write(path, changed, wanted)
    return True


def record_in_bundle(path: Path, skill: str) -> bool:
    """Bring the last validation of ``skill`` in the bundle's card at ``path`` up to date.

    It follows from the skill's own card, under skills/ beside ``path``. Returns whether the file changed.

    Raises:
        InputError: one of the cards is invalid, or the bundle's card does not list the skill; nothing is
            written.
        OSError: the file cannot be written; it is then untouched.
    """
    card_path = path.parent / "skills" / skill / "card.yaml"
    card = read_document(card_path)
    _refuse(card_path, problems_of(card), "the card is invalid, so that the bundle's card was not updated")
    document = read_document(path)
    _refuse(path, _bundle_problems(document), "the bundle's card is invalid, so that it was not updated")
    wanted = copy.deepcopy(document.data)
    entry = next((entry for entry in wanted["skills"] if entry["name"] == skill), None)
    if entry is None:
        raise InputError(f'the skill "{skill}" is not listed under skills', where=Location(path))
    value = derive.last_validation(card.data["evidence"])
    if entry["last_validation"] == value:
        return False
    entry["last_validation"] = value
    splicer = Splicer(document)
    index = wanted["skills"].index(entry)
    splicer.set_key(("skills", index, "last_validation"), value)
    changed = parse_document(splicer.text(), path)
    _refuse(path, _bundle_problems(changed), "the bundle's card could not be updated")
    _write(path, changed, wanted)
    return True


def _bundle_problems(document: Document) -> list[CardProblem]:
    return document.problems or schema_problems(document, "bundle.strict")


def _refuse(path: Path, problems: list[CardProblem], why: str) -> None:
    if problems:
        raise input_error(path, problems, remedy=why)


def _write(path: Path, changed: Document, wanted: Mapping[str, Any]) -> None:
    """Write, unless the edited text reads otherwise than intended."""
    if changed.data != wanted:
        message = "could not be edited in place without touching other values"
        raise InputError(message, where=Location(path), remedy="write its lists and mappings in block style")
    atomic.write_text(path, changed.text)


def _same_run(evidence: list[dict[str, Any]], run: Mapping[str, Any]) -> int | None:
    """The index of the entry for the same block and versions, None where there is none."""
    for index, entry in enumerate(evidence):
        if entry["type"] == "run" and all(entry[key] == run[key] for key in ("block", "versions")):
            return index
    return None


def _entry(run: Mapping[str, Any]) -> dict[str, Any]:
    """The entry as it is written: keys in one order and plain values."""
    given: dict[str, Any] = {**run, "type": "run", "id": run.get("id") or "new"}
    given = {key: value for key, value in given.items() if value is not None}
    for key in ("date", "report"):  # a date and a path are fine too
        if key in given:
            given[key] = str(given[key])
    if isinstance(given.get("versions"), Mapping):
        given["versions"] = dict(sorted(given["versions"].items()))
    if isinstance(given.get("command"), tuple):
        given["command"] = list(given["command"])
    order = [*(key for key in _RUN_KEYS if key in given), *(key for key in given if key not in _RUN_KEYS)]
    return {key: given[key] for key in order}


def _new_id(run: Mapping[str, Any], evidence: list[dict[str, Any]]) -> str:
    """Named after the block and the release; with a number behind it where that is taken."""
    versions = run["versions"]
    package = next((name for name in ("megatron-bridge", "megatron-core") if name in versions), None)
    text = f"{run['block']}-{package}-{versions[package]}" if package else run["block"]
    base = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-.")
    taken = {entry["id"] for entry in evidence}
    number, name = 1, base
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    return name
