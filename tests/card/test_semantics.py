"""The rules are held by examples/strict/negative; here is what a file cannot say."""

from __future__ import annotations

from pathlib import Path

import pytest

from mbridge_skills.card.reader import parse_document
from mbridge_skills.card.semantics import label_problem, semantic_problems


@pytest.mark.parametrize(
    ("tier", "label", "fits"),
    [
        ("cpu", "cpu-simulated", True),
        ("cpu", "gpu", False),
        ("gpu", "gpu", True),
        ("gpu", "cpu-simulated", False),
        ("bridge", "gpu", True),
        ("bridge", "cpu-simulated", False),
    ],
)
def test_label_problem(tier: str, label: str, fits: bool) -> None:
    assert (label_problem(tier, label) is None) is fits


def test_relative_path_has_a_folder_too(
    minimal_text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "example-skill"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert semantic_problems(parse_document(minimal_text, Path("card.yaml"))) == []
