from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.bundle.locate import Bundle, find_bundle
from mbridge_skills.card.load import load_card
from mbridge_skills.errors import InputError
from mbridge_skills.verify.evidence import FORMAT
from mbridge_skills.verify.plan import Request
from mbridge_skills.verify.recording import record, refuse_if_impossible
from mbridge_skills.verify.report import BlockReport, Status, VerifyReport

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """A copy of the bundle, without the runs that it has."""
    root = tmp_path / "bundle"
    shutil.copytree(ROOT / "tests/card/examples/strict/positive", root / "skills/example-skill")
    folder = root / "skills/example-skill"
    shutil.move(folder / "minimal.yaml", folder / "card.yaml")
    (folder / "full.yaml").unlink()
    (folder / "SKILL.md").write_text("---\nname: example-skill\ndescription: An example.\n---\nText.\n")
    (root / "card.yaml").write_text(
        "# A bundle.\nschema: bundle/1\nname: example\nsummary: An example.\nskills:\n"
        "  - name: example-skill  # the only one\n    level: experimental\n    stability: alpha\n"
        "    last_validation: null\n"
    )
    return find_bundle(root)


def evidence(stamp: str = "20261130T200000Z", **changes: Any) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "id": f"smoke-{stamp}",
        "block": "smoke",
        "date": f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T20:00:00+00:00",
        "label": "cpu-simulated",
        "versions": {"torch": "2.13.0", "megatron-core": "0.19.2"},
        "command": ["{python}", "-m", "example"],
        **changes,
    }


def report(*blocks: BlockReport) -> VerifyReport:
    return VerifyReport("example-skill", "2026-11-30T20:00:00+00:00", blocks)


def passed(**changes: Any) -> BlockReport:
    return BlockReport("smoke", "Title", "cpu", Status.PASSED, True, evidence=evidence(**changes))


def contents(bundle: Bundle) -> dict[str, bytes]:
    return {
        path.relative_to(bundle.root).as_posix(): path.read_bytes()
        for path in bundle.root.rglob("*")
        if path.is_file()
    }


class TestRefused:
    def test_an_installed_bundle(self, bundle: Bundle) -> None:
        with pytest.raises(InputError) as caught:
            refuse_if_impossible(replace(bundle, source="installed"), Request())
        assert "installed package and is not written to" in caught.value.message
        assert caught.value.remedy == "work in a checkout of the bundle, or name one with --bundle DIR"
        assert caught.value.exit_code == 2

    @pytest.mark.parametrize("request_", [Request(smoke_options=("--tp", "2")), Request(processes=4)])
    def test_another_run_than_the_cards(self, bundle: Bundle, request_: Request) -> None:
        with pytest.raises(InputError) as caught:
            refuse_if_impossible(bundle, request_)
        assert caught.value.remedy == "leave out either --write-card or --processes and the options after --"

    @pytest.mark.parametrize("source", ["option", "checkout"])
    def test_no_other(self, bundle: Bundle, source: Any) -> None:
        refuse_if_impossible(replace(bundle, source=source), Request())


@pytest.mark.parametrize(
    "blocks",
    [
        (),
        (replace(passed(), status=Status.FAILED),),
        (replace(passed(), status=Status.NOT_VERIFIED),),
        (replace(passed(), evidence=None),),  # judged from a log
    ],
    ids=["no block", "failed", "not verified", "without evidence"],
)
def test_nothing_is_written(bundle: Bundle, blocks: tuple[BlockReport, ...]) -> None:
    before = contents(bundle)
    assert record(bundle, bundle.skill(), report(*blocks)) == []
    assert contents(bundle) == before


def test_a_passed_run(bundle: Bundle) -> None:
    block = passed()
    before = contents(bundle)
    failed = replace(passed(id="smoke-2"), status=Status.FAILED)
    assert record(bundle, bundle.skill(), report(failed, block)) == [block]
    after = contents(bundle)
    place = "skills/example-skill/evidence/smoke-20261130T200000Z.json"
    assert set(after) - set(before) == {place}
    assert json.loads(after[place]) == block.evidence
    card = load_card(bundle.skill().card_path)
    (run,) = card.runs
    assert (run.id, run.block, run.tier, run.label, run.verdict, run.date) == (
        "smoke-20261130T200000Z",
        "smoke",
        "cpu",
        "cpu-simulated",
        "passed",
        "2026-11-30",
    )
    assert run.report == "evidence/smoke-20261130T200000Z.json"
    assert dict(run.versions) == {"torch": "2.13.0", "megatron-core": "0.19.2"}
    assert card.validated_on == "2026-11-30"
    assert b"last_validation: {on: 2026-11-30, labels: [cpu-simulated]}" in after["card.yaml"]
    assert after["card.yaml"].startswith(b"# A bundle.\n")


def test_a_newer_run_takes_the_place_of_the_older(bundle: Bundle) -> None:
    record(bundle, bundle.skill(), report(passed()))
    record(bundle, bundle.skill(), report(passed(stamp="20261201T080000Z")))
    card = load_card(bundle.skill().card_path)
    assert [(run.date, run.report) for run in card.runs] == [
        ("2026-12-01", "evidence/smoke-20261201T080000Z.json")
    ]
    folder = bundle.skill().folder / "evidence"
    assert [path.name for path in folder.iterdir()] == ["smoke-20261201T080000Z.json"]


def test_runs_with_other_versions_stay(bundle: Bundle) -> None:
    record(bundle, bundle.skill(), report(passed()))
    versions = {"torch": "2.13.0", "megatron-core": "0.18.2"}
    record(bundle, bundle.skill(), report(passed(stamp="20261201T080000Z", versions=versions)))
    assert len(load_card(bundle.skill().card_path).runs) == 2
    assert len(list((bundle.skill().folder / "evidence").iterdir())) == 2


def test_files_that_are_no_evidence_of_the_block_stay(bundle: Bundle) -> None:
    folder = bundle.skill().folder / "evidence"
    folder.mkdir()
    others = {
        "notes.json": '{"format": "other"}',
        "broken.json": "{",
        "list.json": "[]",
        "gpu.json": json.dumps(evidence(block="gpu")),
        "notes.txt": "text",
    }
    for name, text in others.items():
        (folder / name).write_text(text)
    record(bundle, bundle.skill(), report(passed()))
    assert {path.name for path in folder.iterdir()} == {*others, "smoke-20261130T200000Z.json"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "gpu"}, "expected the block's label"),
        ({"versions": {}}, "expected at least 1 key"),
        ({"block": "smoke", "command": []}, "command"),
    ],
)
def test_what_the_card_cannot_hold_leaves_all_as_it_was(
    bundle: Bundle, changes: dict[str, Any], message: str
) -> None:
    before = contents(bundle)
    with pytest.raises(InputError) as caught:
        record(bundle, bundle.skill(), report(passed(**changes)))
    assert message in str(caught.value)
    assert contents(bundle) == before


def test_an_invalid_card_leaves_all_as_it_was(bundle: Bundle) -> None:
    card = bundle.skill().card_path
    card.write_text(card.read_text().replace("level: experimental", "level: none"))
    before = contents(bundle)
    with pytest.raises(InputError, match="/level: expected one of"):
        record(bundle, bundle.skill(), report(passed()))
    assert contents(bundle) == before
