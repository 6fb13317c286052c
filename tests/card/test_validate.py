from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mbridge_skills.card.validate import validate


def test_problems_come_in_the_order_of_the_file(write_card: Callable[[str], Path], minimal_text: str) -> None:
    text = minimal_text.replace("stall_s: 10", "stall_s: 100").replace("title: An", "titel: An")
    found = validate(write_card(text))
    assert [problem.pointer for problem in found] == ["", "/titel", "/verify/0/stall_s"]
    lines = [problem.where.line or 0 for problem in found]
    assert lines == sorted(lines)


def test_a_wrong_shape_hides_nothing_elsewhere(write_card: Callable[[str], Path], minimal_text: str) -> None:
    text = minimal_text.replace("evidence: []", "evidence: none").replace("stall_s: 10", "stall_s: 100")
    pointers = [problem.pointer for problem in validate(write_card(text))]
    assert pointers == ["/verify/0/stall_s", "/evidence"]


def test_a_wrong_shape_is_not_reported_twice(write_card: Callable[[str], Path], minimal_text: str) -> None:
    text = minimal_text.replace("{status: not_verified}", "{status: measured, evidence: some-run}")
    found = validate(write_card(text))
    assert [problem.pointer for problem in found] == ["/validation_status/example_feature/evidence"]


def test_compat_card_is_not_strict(tmp_path: Path) -> None:
    path = tmp_path / "example" / "card.yaml"
    path.parent.mkdir()
    path.write_text(
        "title: a\nvalidated_on: 2026-01-02\nsummary: b\nvalidation_status: {c: [measured]}\nevidence: [d]\n"
    )
    assert validate(path, "compat") == []
    assert validate(path, "strict") != []
