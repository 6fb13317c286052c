"""Checking the bundle's own card against the cards of its skills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mbridge_skills.bundle.locate import Skill
from mbridge_skills.card import derive
from mbridge_skills.card.problems import CardProblem, in_order
from mbridge_skills.card.reader import Document, read_document
from mbridge_skills.card.schema import schema_problems
from mbridge_skills.errors import InputError


def validate_bundle(root: Path) -> list[CardProblem]:
    """All problems of ``root/card.yaml``: its shape, and where it does not say what the skills' cards say.

    A skill whose own card is missing or unreadable is reported; its card's other problems are not repeated.

    Raises:
        InputError: the top-level card cannot be read.
    """
    document = read_document(root / "card.yaml")
    if document.data is None and document.problems:
        return document.problems
    problems = document.problems + schema_problems(document, "bundle.strict")
    return in_order(problems or _disagreements(document, root))


def _disagreements(document: Document, root: Path) -> list[CardProblem]:
    found = []
    folders = {path.parent.name: path.parent for path in sorted((root / "skills").glob("*/SKILL.md"))}
    listed: set[str] = set()
    for index, entry in enumerate(document.data["skills"]):
        name = entry["name"]
        if name in listed:
            found.append(document.problem(("skills", index, "name"), f'the skill "{name}" is listed twice'))
        elif name not in folders:
            message = f"no such skill: skills/{name}/SKILL.md is not there"
            found.append(document.problem(("skills", index, "name"), message))
        else:
            found += _differences(document, index, entry, Skill(name, folders[name]))
        listed.add(name)
    for name in folders.keys() - listed:
        found.append(document.problem(("skills",), f'the skill "{name}" is not listed'))
    return found


def _differences(document: Document, index: int, entry: dict[str, Any], skill: Skill) -> list[CardProblem]:
    try:
        data = read_document(skill.card_path).data
        evidence = [item for item in data["evidence"] if isinstance(item, dict)]
        truth = {
            "level": data["level"],
            "stability": data["stability"],
            "last_validation": derive.last_validation(evidence),
        }
    except (InputError, AttributeError, KeyError, TypeError):
        message = f"cannot be compared: {skill.card_path} is missing or no valid card"
        return [document.problem(("skills", index), message)]
    return [
        document.problem(
            ("skills", index, key),
            f"expected what the skill's card gives, {_shown(value)}, got {_shown(entry[key])}",
        )
        for key, value in truth.items()
        if entry[key] != value
    ]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['on']} ({', '.join(value['labels'])})"
    return "null" if value is None else str(value)
