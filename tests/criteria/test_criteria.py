"""The package: its table of criteria."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from mbridge_skills import criteria


def test_ids_are_those_of_the_card_schema() -> None:
    text = (resources.files("mbridge_skills") / "schemas" / "card.strict.json").read_text(encoding="utf-8")
    ids = [entry["const"] for entry in json.loads(text)["$defs"]["criterion_id"]["oneOf"]]
    assert list(criteria.IDS) == ids


def test_every_id_leads_to_its_criterion() -> None:
    assert [criteria.criterion(name).id for name in criteria.IDS] == list(criteria.IDS)


def test_unknown_id() -> None:
    with pytest.raises(KeyError):
        criteria.criterion("final-loss")
