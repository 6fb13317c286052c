from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mbridge_skills.card.load import load_card
from mbridge_skills.card.model import Card
from mbridge_skills.errors import InputError

OVERRIDES = """version_overrides:
  - when: {megatron-core: ">=0.19"}
    set: {ddp.dtype: fp32, ddp.example: false}
    reason: Core reason.
  - when: {megatron-bridge: "<0.5", megatron-core: "<0.18"}
    set: {ddp.old: true}
    reason: Both reasons.
verify:"""


@pytest.fixture
def card(write_card: Callable[[str], Path], minimal_text: str) -> Card:
    return load_card(write_card(minimal_text.replace("verify:", OVERRIDES)))


def test_recommended_path_alone(card: Card) -> None:
    settings, undecided = card.settings_for({"megatron-core": "0.18.2", "megatron-bridge": "0.5.1"})
    assert [(item.key, item.value, item.reason) for item in settings] == [
        ("ddp.example", True, "recommended path")
    ]
    assert undecided == []


def test_override_replaces_and_adds(card: Card) -> None:
    settings, _ = card.settings_for({"megatron-core": "0.19.2", "megatron-bridge": "0.6.2"})
    assert [(item.key, item.value, item.reason) for item in settings] == [
        ("ddp.example", False, "Core reason."),
        ("ddp.dtype", "fp32", "Core reason."),
    ]


def test_pre_release_counts_as_its_release(card: Card) -> None:
    settings, _ = card.settings_for({"megatron-core": "0.19.0rc0"})
    assert "ddp.dtype" in {item.key for item in settings}


@pytest.mark.parametrize("unknown", [{}, {"megatron-core": None, "megatron-bridge": None}])
def test_unknown_releases_leave_overrides_undecided(card: Card, unknown: dict[str, None]) -> None:
    settings, undecided = card.settings_for(unknown)
    assert [item.key for item in settings] == ["ddp.example"]
    assert [override.reason for override in undecided] == ["Core reason.", "Both reasons."]


def test_all_specifiers_must_hold(card: Card) -> None:
    applies = card.version_overrides[1].applies
    assert applies({"megatron-core": "0.17.1", "megatron-bridge": "0.4.2"}) is True
    assert applies({"megatron-core": "0.18.2", "megatron-bridge": "0.4.2"}) is False
    assert applies({"megatron-core": "0.17.1"}) is None
    assert applies({"megatron-core": "0.19.2"}) is False  # whatever the other release is


def test_block(card: Card) -> None:
    assert card.block("smoke").title == "Run the example"
    assert card.blocks_for("cpu") == (card.block("smoke"),)
    assert card.blocks_for("gpu") == ()


def test_unknown_block(card: Card) -> None:
    with pytest.raises(InputError, match=r"no verify block 'gpu' \(there are: smoke\)"):
        card.block("gpu")


def test_argv_fills_placeholders(write_card: Callable[[str], Path], full_text: str) -> None:
    block = load_card(write_card(full_text)).block("smoke")
    values = {"python": "/bin/py thon", "processes": "2", "work": "/w", "card": "/c"}
    assert block.argv(values) == [
        "/bin/py thon", "-m", "example", "--n=2", "--out=/w/x", "--card=/c", '{"json": 1}',
    ]  # fmt: skip


def test_argv_with_a_missing_value(card: Card) -> None:
    with pytest.raises(KeyError):
        card.block("smoke").argv({})
