from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mbridge_skills.bundle.validate import validate_bundle

Make = Callable[..., Path]

RUN = """evidence:
  - type: run
    id: one
    date: 2026-11-30
    block: smoke
    tier: cpu
    label: cpu-simulated
    verdict: passed
    versions: {megatron-core: 0.16.1}
    command: [python]
"""


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_agreeing_bundle(make_bundle: Make, tmp_path: Path) -> None:
    assert validate_bundle(make_bundle(tmp_path / "b", "first", "second")) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (
            "skills/first/card.yaml",
            "level: experimental",
            "level: avoid",
            "card.yaml:6:5: /skills/0/level: expected what the skill's card gives, avoid, got experimental",
        ),
        (
            "skills/first/card.yaml",
            "evidence: []\n",
            RUN,
            "card.yaml:8:5: /skills/0/last_validation: "
            "expected what the skill's card gives, 2026-11-30 (cpu-simulated), got null",
        ),
        (
            "card.yaml",
            "last_validation: null",
            "last_validation: {on: 2026-11-30, labels: [gpu]}",
            "card.yaml:8:5: /skills/0/last_validation: "
            "expected what the skill's card gives, null, got 2026-11-30 (gpu)",
        ),
        (
            "card.yaml",
            "name: first",
            "name: third",
            "card.yaml:5:5: /skills/0/name: no such skill: skills/third/SKILL.md is not there",
        ),
        ("card.yaml", "stability: alpha", "stability: new", "yaml:7:5: /skills/0/stability: expected one of"),
        ("card.yaml", "name: example-bundle", "nam: x", 'yaml:1:1: missing key "name": The bundle\'s name.'),
        ("skills/first/card.yaml", "level: experimental", "x: y", "/skills/0: cannot be compared"),
    ],
)  # fmt: skip
def test_disagreement(
    make_bundle: Make, tmp_path: Path, file: str, old: str, new: str, expected: str
) -> None:
    root = make_bundle(tmp_path / "b", "first")
    _edit(root / file, old, new)
    assert expected in "\n".join(map(str, validate_bundle(root)))


def test_skill_that_is_not_listed(make_bundle: Make, tmp_path: Path) -> None:
    root = make_bundle(tmp_path / "b", "first", "second")
    _edit(root / "card.yaml", "name: second", "name: first")
    messages = [problem.message for problem in validate_bundle(root)]
    assert messages == ['the skill "second" is not listed', 'the skill "first" is listed twice']


def test_missing_card(make_bundle: Make, tmp_path: Path) -> None:
    root = make_bundle(tmp_path / "b", "first")
    (root / "skills/first/card.yaml").unlink()
    (problem,) = validate_bundle(root)
    assert "is missing or no valid card" in problem.message


def test_broken_yaml(make_bundle: Make, tmp_path: Path) -> None:
    root = make_bundle(tmp_path / "b", "first")
    (root / "card.yaml").write_text("schema: [\n")
    assert "not valid YAML" in validate_bundle(root)[0].message
