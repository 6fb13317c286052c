from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mbridge_skills.card.load import load_card
from mbridge_skills.card.view import card_lines, value_text


def _text(path: Path, width: int = 80) -> str:
    return "\n".join(line.plain for line in card_lines(load_card(path), width)) + "\n"


def test_minimal_card_shows_no_empty_sections(write_card: Callable[[str], Path], minimal_text: str) -> None:
    text = _text(write_card(minimal_text))
    assert "Validated: not yet (no run under evidence has passed)" in text
    assert "Overrides by release" not in text
    assert "Evidence" not in text


def test_full_card(write_card: Callable[[str], Path], full_text: str) -> None:
    text = _text(write_card(full_text))
    for part in (
        "Level: conditional   Stability: beta\n",
        "  A literal text. # this line belongs to it\n",
        "Validated: 2026-11-30, cpu-simulated (megatron-core 0.16.1, torch 2.11)\n",
        "  trained  parity_verified  2026-11-30\n",
        '  checkpoint.text = "2026"\n',
        "  megatron-core >=0.19 and megatron-bridge !=0.6.1,<1\n    ddp.dtype = torch.float32\n",
        "    criteria: every-iteration-finite, parity (optional)\n",
        "    test: tests/a/test_x.py::TestX::test_y\n",
        "  smoke-1  2026-11-30  smoke passed, cpu-simulated\n    megatron-core 0.16.1, torch 2.11\n",
    ):
        assert part in text


def test_sentences_fit_and_paths_stay_whole(write_card: Callable[[str], Path], minimal_text: str) -> None:
    path = "tests/" + "a_long_folder/" * 7 + "test_x.py"
    url = f"https://example.org/{path}"
    text = minimal_text.replace("An example card.", "Many words. " * 30)
    text = text.replace("evidence: []", f"evidence:\n  - {{type: url, id: a, url: '{url}'}}")
    lines = _text(write_card(text), width=60).splitlines()
    assert [line for line in lines if len(line) > 60] == [f"    {url}"]


def test_markup_in_a_text_is_text(write_card: Callable[[str], Path], minimal_text: str) -> None:
    text = minimal_text.replace("An example card.", '"[bold]loud[/bold] [x](y) :smile:"')
    assert "[bold]loud[/bold] [x](y) :smile:" in _text(write_card(text))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (None, "None"),
        (1e-5, "1e-05"),
        ('a "b"', '"a \\"b\\""'),
        ([1, "a"], "[1, 'a']"),
        ({"_target_": "torch.float32", "_call_": False}, "torch.float32"),
        ({"_target_": "torch.float32"}, "{'_target_': 'torch.float32'}"),
    ],
)
def test_value_text(value: object, text: str) -> None:
    assert value_text(value) == text
