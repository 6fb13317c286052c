from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills import atomic
from mbridge_skills.card.load import load_card
from mbridge_skills.card.record import record_in_bundle, record_run
from mbridge_skills.errors import InputError

BUNDLE = """# A bundle.
schema: bundle/1
name: example
summary: An example.
skills:
  - name: example-skill   # the only one
    level: experimental
    stability: alpha
    last_validation: null  # not yet
"""


def _changes(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went and the lines that came."""
    lines = list(difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True)))
    return [line[2:] for line in lines if line[0] == "-"], [line[2:] for line in lines if line[0] == "+"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_first_run_adds_lines_and_changes_none(
    write_card: Callable[[str], Path], minimal_text: str, run: dict[str, Any], ending: str
) -> None:
    text = minimal_text.replace("evidence: []", "evidence:\n- {type: url, id: a, url: 'https://example.org'}")
    text = ("# Head.\n\n" + text + "follow_up:\n  - 'Quoted'   # comment\n# Foot.\n").replace("\n", ending)
    path = write_card(text)

    assert record_run(path, run) is True

    after = path.read_bytes().decode()
    gone, new = _changes(text, after)
    assert gone == []
    assert "".join(new) == (
        "- type: run\n"
        "  id: smoke-megatron-core-0.18.2\n"
        "  date: 2026-12-02\n"
        "  block: smoke\n"
        "  tier: cpu\n"
        "  label: cpu-simulated\n"
        "  verdict: passed\n"
        "  versions: {megatron-core: 0.18.2, torch: '2.13'}\n"
        "  command: [python, -m, example, '--text=a: b # c']\n"
        "  report: evidence/two.json\n"
        "validated_on: 2026-12-02\n"
        "validated_with:\n"
        "  cpu-simulated: {megatron-core: [0.18.2], torch: ['2.13']}\n"
    ).replace("\n", ending)
    card = load_card(path)
    assert card.runs[0].command == tuple(run["command"])
    assert card.validated_on == "2026-12-02"


def test_run_into_an_empty_list(
    write_card: Callable[[str], Path], minimal_text: str, run: dict[str, Any]
) -> None:
    path = write_card(minimal_text.removesuffix("\n"))
    assert record_run(path, run) is True
    assert len(load_card(path).runs) == 1


def test_full_card_keeps_everything_else(
    write_card: Callable[[str], Path], full_text: str, run: dict[str, Any]
) -> None:
    path = write_card(full_text)
    record_run(path, run)
    gone, new = _changes(full_text, path.read_text())
    assert gone == [
        "validated_on: 2026-11-30\n",
        '  cpu-simulated: {megatron-core: [0.16.1], torch: ["2.11"]}\n',
    ]
    assert new[-2:] == [
        "validated_on: 2026-12-02\n",
        "  cpu-simulated: {megatron-core: [0.16.1, 0.18.2], torch: ['2.11', '2.13']}\n",
    ]


def test_again_changes_nothing(
    write_card: Callable[[str], Path], full_text: str, run: dict[str, Any]
) -> None:
    path = write_card(full_text)
    assert record_run(path, run) is True
    before = path.read_bytes()
    assert record_run(path, run) is False
    assert path.read_bytes() == before


def test_newer_run_replaces_the_older_and_keeps_its_id(
    write_card: Callable[[str], Path], full_text: str, run: dict[str, Any]
) -> None:
    path = write_card(full_text)
    run["versions"] = {"torch": "2.11", "megatron-core": "0.16.1"}
    assert record_run(path, run) is True
    card = load_card(path)
    assert [(entry.id, entry.date) for entry in card.runs] == [
        ("smoke-1", "2026-12-02"),
        ("smoke-2", "2026-12-01"),
    ]
    assert card.validated_on == "2026-12-02"


def test_older_run_changes_nothing(
    write_card: Callable[[str], Path], full_text: str, run: dict[str, Any]
) -> None:
    path = write_card(full_text)
    run |= {"versions": {"torch": "2.11", "megatron-core": "0.16.1"}, "date": "2026-01-01"}
    assert record_run(path, run) is False
    assert path.read_text() == full_text


def test_older_run_with_other_versions_does_not_move_the_date(
    write_card: Callable[[str], Path], full_text: str, run: dict[str, Any]
) -> None:
    path = write_card(full_text)
    record_run(path, run | {"date": "2026-01-01"})
    assert load_card(path).validated_on == "2026-11-30"


def test_ids_stay_apart(write_card: Callable[[str], Path], minimal_text: str, run: dict[str, Any]) -> None:
    path = write_card(minimal_text)
    for torch in ("2.11", "2.12", "2.13"):
        record_run(path, run | {"versions": {"torch": torch, "megatron-core": "0.18.2"}})
    base = "smoke-megatron-core-0.18.2"
    assert [entry.id for entry in load_card(path).runs] == [base, f"{base}-2", f"{base}-3"]


def test_given_id_is_kept(write_card: Callable[[str], Path], minimal_text: str, run: dict[str, Any]) -> None:
    path = write_card(minimal_text)
    record_run(path, run | {"id": "smoke-20261202T101500Z", "note": "On a laptop."})
    assert load_card(path).runs[0].id == "smoke-20261202T101500Z"
    assert load_card(path).runs[0].note == "On a laptop."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "failed"}, "only a passed run is recorded, and this one is failed"),
        ({"verdict": None}, "this one is without verdict"),
        ({"block": "other"}, 'no verify block has the id "other"'),
        ({"label": "gpu"}, 'expected the block\'s label, "cpu-simulated", got "gpu"'),
        ({"date": "yesterday"}, "expected a date like 2026-11-30"),
        ({"versions": {}}, "expected at least 1 key"),
        ({"versions": None}, 'missing key "versions"'),
        ({"command": "python -m example"}, "expected a list of strings"),
        ({"colour": "red"}, 'unknown key "colour"'),
        ({"id": "a-file"}, 'the id "a-file" is already taken'),
    ],
)
def test_refuses_and_leaves_the_file(
    write_card: Callable[[str], Path],
    full_text: str,
    run: dict[str, Any],
    change: dict[str, Any],
    message: str,
) -> None:
    path = write_card(full_text)
    with pytest.raises(InputError) as caught:
        record_run(path, run | change)
    assert message in str(caught.value)
    assert path.read_text() == full_text
    assert list(path.parent.iterdir()) == [path]


def test_refuses_an_invalid_card(
    write_card: Callable[[str], Path], minimal_text: str, run: dict[str, Any]
) -> None:
    text = minimal_text.replace("level: experimental", "level: none")
    path = write_card(text)
    with pytest.raises(InputError, match="/level: expected one of"):
        record_run(path, run)
    assert path.read_text() == text


def test_refuses_a_list_that_it_cannot_add_to(
    write_card: Callable[[str], Path], minimal_text: str, run: dict[str, Any]
) -> None:
    text = minimal_text.replace("[]", "[{type: url, id: a, url: 'https://example.org'}]")
    path = write_card(text)
    with pytest.raises(InputError, match="evidence can only be added to as a block list"):
        record_run(path, run)
    assert path.read_text() == text


def test_a_failing_disk_leaves_the_file(
    write_card: Callable[[str], Path], full_text: str, run: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = write_card(full_text)
    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        record_run(path, run)
    assert path.read_text() == full_text


@pytest.fixture
def bundle(tmp_path: Path, minimal_text: str) -> Path:
    """The card of a bundle with one skill, not validated yet."""
    card = tmp_path / "skills" / "example-skill" / "card.yaml"
    card.parent.mkdir(parents=True)
    card.write_text(minimal_text)
    path = tmp_path / "card.yaml"
    path.write_text(BUNDLE)
    return path


def test_bundle_follows_the_card(bundle: Path, run: dict[str, Any]) -> None:
    assert record_in_bundle(bundle, "example-skill") is False
    record_run(bundle.parent / "skills/example-skill/card.yaml", run)
    assert record_in_bundle(bundle, "example-skill") is True
    assert bundle.read_text() == BUNDLE.replace("null  #", "{on: 2026-12-02, labels: [cpu-simulated]}  #")
    assert record_in_bundle(bundle, "example-skill") is False


def test_bundle_without_the_skill(bundle: Path, run: dict[str, Any]) -> None:
    bundle.write_text(BUNDLE.replace("example-skill", "other-skill"))
    record_run(bundle.parent / "skills/example-skill/card.yaml", run)
    with pytest.raises(InputError, match='the skill "example-skill" is not listed'):
        record_in_bundle(bundle, "example-skill")


def test_invalid_bundle_card_is_left(bundle: Path, run: dict[str, Any]) -> None:
    bundle.write_text(BUNDLE.replace("alpha", "gamma"))
    record_run(bundle.parent / "skills/example-skill/card.yaml", run)
    with pytest.raises(InputError, match="/skills/0/stability: expected one of"):
        record_in_bundle(bundle, "example-skill")
    assert "null" in bundle.read_text()
