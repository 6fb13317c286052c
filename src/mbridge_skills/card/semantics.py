"""What a valid card must hold beyond its schema: names, references, derived values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mbridge_skills.card import derive
from mbridge_skills.card.model import PLACEHOLDER, PLACEHOLDERS
from mbridge_skills.card.problems import CardProblem, DataPath
from mbridge_skills.card.reader import Document
from mbridge_skills.card.versions import specifier_problem

# Statuses that only a run can give.
NEEDS_RUN = ("functional_verified", "parity_verified", "measured")

_Found = Iterator[tuple[DataPath, str]]


def semantic_problems(document: Document, already: Sequence[CardProblem] = ()) -> list[CardProblem]:
    """What is wrong with a card beyond its shape.

    Where the shape is wrong already (``already``), a rule goes as far as the shape lets it, says nothing more
    about those places, and derived values are not judged.
    """
    found: list[CardProblem] = []
    for rule in _RULES:
        if already and rule is _derived_values_follow:
            continue
        try:
            for path, message in rule(document):
                found.append(document.problem(path, message))
        except (AttributeError, KeyError, TypeError):
            if not already:
                raise
    return [problem for problem in found if not any(_overlap(problem, other) for other in already)]


def _overlap(one: CardProblem, other: CardProblem) -> bool:
    short, long = sorted((one.pointer + "/", other.pointer + "/"), key=len)
    return len(short) > 1 and long.startswith(short)


def _name_is_folder(document: Document) -> _Found:
    folder = document.path.absolute().parent.name
    if document.data["name"] != folder:
        yield ("name",), f'expected the name of the folder, "{folder}", got "{document.data["name"]}"'


def _unique_ids(document: Document) -> _Found:
    data = document.data
    lists: list[tuple[DataPath, list[Any]]] = [((key,), data[key]) for key in ("verify", "evidence")]
    for index, block in enumerate(data["verify"]):
        lists.append((("verify", index, "criteria"), block["criteria"]))
    for path, entries in lists:
        seen: set[str] = set()
        for index, entry in enumerate(entries):
            if entry["id"] in seen:
                yield (*path, index, "id"), f'the id "{entry["id"]}" is already taken: expected a new one'
            seen.add(entry["id"])


def _statuses_name_their_evidence(document: Document) -> _Found:
    ids = {entry["id"] for entry in document.data["evidence"]}
    runs = {entry["id"] for entry in derive.passed_runs(document.data["evidence"])}
    for slug, status in document.data["validation_status"].items():
        path = ("validation_status", slug)
        named = status.get("evidence", [])
        for index, name in enumerate(named):
            if name not in ids:
                known = ", ".join(sorted(ids)) or "none"
                yield (*path, "evidence", index), f'no evidence has the id "{name}" (there are: {known})'
        if status["status"] in NEEDS_RUN and not runs.intersection(named):
            yield path, f"{status['status']} must name at least one passed run under evidence"


def _feature_meanings_are_used(document: Document) -> _Found:
    known = document.data["validation_status"]
    for slug in document.data.get("feature_meaning", {}):
        if slug not in known:
            yield ("feature_meaning", slug), f'no feature "{slug}" under validation_status'


def _specifiers_parse(document: Document) -> _Found:
    for index, override in enumerate(document.data.get("version_overrides", [])):
        for package, specifier in override["when"].items():
            if problem := specifier_problem(specifier):
                yield ("version_overrides", index, "when", package), problem
    for index, block in enumerate(document.data["verify"]):
        for package, specifier in block["needs"].get("packages", {}).items():
            if problem := specifier_problem(specifier):
                yield ("verify", index, "needs", "packages", package), problem


def _commands_can_be_filled(document: Document) -> _Found:
    for index, block in enumerate(document.data["verify"]):
        for position, word in enumerate(block["command"]):
            for name in PLACEHOLDER.findall(word):
                path = ("verify", index, "command", position)
                if name not in PLACEHOLDERS:
                    known = ", ".join("{" + known + "}" for known in PLACEHOLDERS)
                    yield path, f"unknown placeholder {{{name}}}: expected one of {known}"
                elif name == "test" and "test" not in block:
                    yield path, "the placeholder {test} needs test.node_id in the same block"


def _tiers_hold_together(document: Document) -> _Found:
    for index, block in enumerate(document.data["verify"]):
        path = ("verify", index)
        if problem := label_problem(block["tier"], block["label"]):
            yield (*path, "label"), problem
        if block["tier"] == "cpu" and block["needs"]["gpus"]:
            yield (*path, "needs", "gpus"), "expected 0: the cpu tier needs no GPU"
        if block["tier"] == "bridge" and "test" not in block:
            yield path, 'missing key "test": the bridge tier runs one of upstream\'s tests, by test.node_id'
        if block["tier"] != "bridge" and "test" in block:
            yield (*path, "test"), f"only the bridge tier has a test, not {block['tier']}"
        if block["stall_s"] > block["timeout_s"]:
            yield (*path, "stall_s"), "expected at most timeout_s"


def label_problem(tier: str, label: str) -> str | None:
    """What is wrong with an evidence label in a tier; None where it fits."""
    expected = "cpu-simulated" if tier == "cpu" else "gpu"
    return None if label == expected else f'the {tier} tier\'s label must be {expected}, got "{label}"'


def _criteria_can_be_judged(document: Document) -> _Found:
    for index, block in enumerate(document.data["verify"]):
        expect = block.get("expect", {})
        for position, criterion in enumerate(block["criteria"]):
            path = ("verify", index, "criteria", position)
            name = criterion["id"]
            if name == "parity" and not criterion.get("tolerance"):
                yield path, 'missing key "tolerance": parity is judged against a limit per dtype'
            if name == "pytest-passes" and "passes" not in expect:
                yield path, "pytest-passes is judged against expect.passes, which the block does not give"
            if name in ("final-loss-finite", "every-iteration-finite") and "iterations" not in expect:
                yield path, f"{name} is judged against expect.iterations, which the block does not give"


def _runs_fit_their_blocks(document: Document) -> _Found:
    blocks = {block["id"]: block for block in document.data["verify"]}
    for index, entry in enumerate(document.data["evidence"]):
        if entry["type"] != "run":
            continue
        path = ("evidence", index)
        block = blocks.get(entry["block"])
        if block is None:
            known = ", ".join(blocks) or "none"
            yield (*path, "block"), f'no verify block has the id "{entry["block"]}" (there are: {known})'
            continue
        for key in ("tier", "label"):
            if entry[key] != block[key]:
                yield (*path, key), f'expected the block\'s {key}, "{block[key]}", got "{entry[key]}"'


def _derived_values_follow(document: Document) -> _Found:
    evidence = document.data["evidence"]
    derived = {
        "validated_on": derive.validated_on(evidence),
        "validated_with": derive.validated_with(evidence) or None,
    }
    for key, value in derived.items():
        present = document.data.get(key)
        if value is None and key in document.data:
            yield (key,), "no run under evidence has passed: expected no such key"
        elif value is not None and key not in document.data:
            yield (), f'missing key "{key}": the runs under evidence give {value}'
        elif value != present:
            yield (key,), f"expected what the runs under evidence give, {value}, got {present}"


_RULES: tuple[Callable[[Document], _Found], ...] = (
    _name_is_folder,
    _unique_ids,
    _statuses_name_their_evidence,
    _feature_meanings_are_used,
    _specifiers_parse,
    _commands_can_be_filled,
    _tiers_hold_together,
    _criteria_can_be_judged,
    _runs_fit_their_blocks,
    _derived_values_follow,
)
