"""From a card's file to its records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mbridge_skills.card import model
from mbridge_skills.card.problems import input_error
from mbridge_skills.card.reader import read_document
from mbridge_skills.card.validate import problems_of

_EVIDENCE = {
    "path": model.PathEvidence,
    "symbol": model.SymbolEvidence,
    "url": model.UrlEvidence,
    "run": model.RunEvidence,
}


def load_card(path: Path) -> model.Card:
    """Read and check the card at ``path`` (strict profile).

    Raises:
        InputError: the file is missing, unreadable or not a valid card; the message lists all problems.
    """
    document = read_document(path)
    problems = problems_of(document)
    if problems:
        raise input_error(path, problems)
    return card_from(document.data, path)


def card_from(data: Mapping[str, Any], path: Path) -> model.Card:
    """The records of a card whose data has been checked; ``path`` is where it came from."""
    return model.Card(
        path=path,
        name=data["name"],
        title=data["title"],
        summary=data["summary"].strip(),
        level=data["level"],
        level_reason=data["level_reason"].strip(),
        stability=data["stability"],
        validation_status={slug: _status(entry) for slug, entry in data["validation_status"].items()},
        feature_meaning={slug: text.strip() for slug, text in data.get("feature_meaning", {}).items()},
        recommended_path=data["recommended_path"],
        version_overrides=tuple(
            model.VersionOverride(entry["when"], entry["set"], entry["reason"].strip())
            for entry in data.get("version_overrides", [])
        ),
        constraints=_texts(data, "constraints"),
        limitations=_texts(data, "limitations"),
        verify=tuple(_block(entry) for entry in data["verify"]),
        evidence=tuple(_evidence(entry) for entry in data["evidence"]),
        follow_up=_texts(data, "follow_up"),
        validated_on=data.get("validated_on"),
        validated_with=data.get("validated_with", {}),
        data=data,
    )


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(text.strip() for text in data.get(key, []))


def _status(entry: Mapping[str, Any]) -> model.FeatureStatus:
    return model.FeatureStatus(
        entry["status"], entry.get("on"), tuple(entry.get("evidence", [])), entry.get("note")
    )


def _block(entry: Mapping[str, Any]) -> model.VerifyBlock:
    return model.VerifyBlock(
        id=entry["id"],
        title=entry["title"],
        tier=entry["tier"],
        label=entry["label"],
        command=tuple(entry["command"]),
        needs=model.Needs(**entry["needs"]),
        timeout_s=float(entry["timeout_s"]),
        stall_s=float(entry["stall_s"]),
        criteria=tuple(model.CriterionSpec(**criterion) for criterion in entry["criteria"]),
        expect=model.Expect(**entry.get("expect", {})),
        test=entry["test"]["node_id"] if "test" in entry else None,
    )


def _evidence(entry: Mapping[str, Any]) -> model.Evidence:
    fields = {key: value for key, value in entry.items() if key != "type"}
    if "command" in fields:
        fields["command"] = tuple(fields["command"])
    evidence: model.Evidence = _EVIDENCE[entry["type"]](**fields)
    return evidence
