from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mbridge_skills.card import model
from mbridge_skills.card.load import load_card
from mbridge_skills.errors import InputError


def test_minimal_card(write_card: Callable[[str], Path], minimal_text: str) -> None:
    card = load_card(write_card(minimal_text))
    assert card.name == "example-skill"
    assert card.validated_on is None
    assert card.validated_with == {}
    assert card.version_overrides == ()
    assert card.verify[0].command == ("{python}", "-m", "example")
    assert card.verify[0].needs == model.Needs(gpus=0, processes=2)
    assert card.verify[0].expect == model.Expect()


def test_full_card(write_card: Callable[[str], Path], full_text: str) -> None:
    card = load_card(write_card(full_text))
    assert card.summary == "A folded text over two lines."
    assert card.level_reason == "A literal text.\n# this line belongs to it"
    assert card.validation_status["trained"] == model.FeatureStatus(
        "parity_verified", "2026-11-30", ("smoke-1",), "On two processes."
    )
    assert card.validation_status["read"].on == "2026-11-29"
    assert card.recommended_path["ddp.small"] == 1e-5
    assert card.recommended_path["checkpoint.text"] == "2026"
    parity = card.block("smoke").criterion("parity")
    assert parity == model.CriterionSpec(
        "parity", False, {"fp32": {"loss": 1e-5, "grad_norm": 1e-5}, "bf16": {"loss": 0.02}}
    )
    assert card.block("upstream").test == "tests/a/test_x.py::TestX::test_y"
    assert [type(entry) for entry in card.evidence[:3]] == [
        model.PathEvidence,
        model.SymbolEvidence,
        model.UrlEvidence,
    ]
    assert [run.verdict for run in card.runs] == ["passed", "failed"]
    assert card.validated_with == {"cpu-simulated": {"megatron-core": ["0.16.1"], "torch": ["2.11"]}}


def test_data_is_json(write_card: Callable[[str], Path], full_text: str) -> None:
    card = load_card(write_card(full_text))
    assert json.loads(json.dumps(card.data, allow_nan=False)) == card.data
    assert card.data["validated_on"] == "2026-11-30"


def test_all_problems_are_in_the_error(write_card: Callable[[str], Path], minimal_text: str) -> None:
    path = write_card(minimal_text.replace("level: exp", "level: x").replace("gpus: 0", "gpus: none"))
    with pytest.raises(InputError) as caught:
        load_card(path)
    first, *rest = str(caught.value).splitlines()
    assert first == f"{path}: 2 problems"
    assert rest[0].startswith(f"  {path}:5:1: /level: expected one of recommended, conditional")
    assert rest[1].startswith(
        f"  {path}:18:13: /verify/0/needs/gpus: expected a whole number, got the string"
    )


def test_one_problem_stands_on_one_line(write_card: Callable[[str], Path], minimal_text: str) -> None:
    path = write_card(minimal_text.replace('["{python}", -m, example]', "python -m example"))
    with pytest.raises(InputError) as caught:
        load_card(path)
    assert str(caught.value) == (
        f'{path}:17:5: /verify/0/command: expected a list of strings, got the string "python -m example" '
        "(argv: the program, then one item per argument. No shell reads it, so one string for the whole "
        "command line is not accepted. {python}, {processes}, {work}, {card} and {test} are filled in.)"
    )


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_card(tmp_path / "card.yaml")
