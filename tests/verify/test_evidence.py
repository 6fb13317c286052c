from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills import __version__
from mbridge_skills.card.load import load_card
from mbridge_skills.card.model import Card, Expect
from mbridge_skills.criteria.base import CriterionResult, JudgedRun, failed, passed
from mbridge_skills.logs.events import Iteration
from mbridge_skills.logs.summary import LogSummary, summarise_file
from mbridge_skills.verify import evidence
from mbridge_skills.verify.launcher import Outcome
from mbridge_skills.verify.plan import Plan
from mbridge_skills.verify.report import Status

TESTS = Path(__file__).parents[1]
SMOKE_LOG = TESTS / "criteria" / "logs" / "smoke-core-0.18.2.4-microbatches.passed.log"
BEGUN = datetime(2026, 11, 30, 20, 0, 1, tzinfo=UTC)
GOOD = CriterionResult("clean-exit", "Clean exit", True, passed("exit code 0", "exit code 0"))


@pytest.fixture
def card(tmp_path: Path) -> Card:
    """A card outside of any repository, as far as the test's folder is."""
    path = tmp_path / "example-skill" / "card.yaml"
    path.parent.mkdir()
    path.write_bytes((TESTS / "card/examples/strict/positive/minimal.yaml").read_bytes())
    return load_card(path)


@pytest.fixture
def collect(card: Card) -> Callable[..., dict[str, Any]]:
    """The evidence of a run of the card's only block, by default with a real log."""

    def make(
        log: LogSummary | None = None,
        criteria: tuple[CriterionResult, ...] = (GOOD,),
        **changes: Any,
    ) -> dict[str, Any]:
        block = card.verify[0]
        planned = Plan(
            block=block,
            argv=(sys.executable, "-m", "example", f"--card={card.path}"),
            template=("{python}", "-m", "example", "--card={card}"),
            folder=None,
            environment={"CUDA_VISIBLE_DEVICES": "", "X": None},
            expect=Expect(),
            processes=2,
            notes=("a note",),
        )
        outcome = Outcome("exited", 0, 12.345)
        run = JudgedRun(summarise_file(SMOKE_LOG) if log is None else log, outcome, Expect(), 2)
        return evidence.collect(card, replace(planned, **changes), run, criteria, Status.PASSED, BEGUN)

    return make


def test_whole(collect: Callable[..., dict[str, Any]], card: Card) -> None:
    record = collect()
    assert list(record) == [
        "format", "id", "skill", "block", "tier", "label", "verdict", "date", "seconds", "command",
        "environment", "versions", "hardware", "run", "ended", "criteria", "series", "log", "tool",
        "git", "notes",
    ]  # fmt: skip
    assert record["format"] == "mbridge-skills-evidence/1"
    assert (record["id"], record["date"]) == ("smoke-20261130T200001Z", "2026-11-30T20:00:01+00:00")
    assert (record["skill"], record["block"], record["tier"]) == ("example-skill", "smoke", "cpu")
    assert (record["label"], record["verdict"], record["seconds"]) == ("cpu-simulated", "passed", 12.3)
    assert record["command"] == ["{python}", "-m", "example", "--card={card}"]
    assert record["environment"] == {"CUDA_VISIBLE_DEVICES": "", "X": None}
    assert record["ended"] == {"how": "exited", "exit_code": 0}
    assert record["notes"] == ["a note"]
    digest = hashlib.sha256(card.path.read_bytes()).hexdigest()[:16]
    assert record["tool"] == {"mbridge-skills": __version__, "card": f"sha256:{digest}"}
    assert record["log"]["bytes"] == SMOKE_LOG.stat().st_size
    assert record["hardware"]["cpu"] == platform.machine()
    assert json.loads(json.dumps(record)) == record


def test_what_the_program_states(collect: Callable[..., dict[str, Any]]) -> None:
    run = collect()["run"]
    assert set(run) == {"settings", "deviations", "options", "backend", "world_size", "data_parallel_size"}
    assert run["settings"]["ddp.data_parallel_sharding_strategy"] == "optim_grads_params"
    assert run["options"]["microbatches"] == 4
    assert collect()["hardware"]["device"] == "2 processes on the CPU (x86_64)"


def test_versions_are_those_of_the_program(collect: Callable[..., dict[str, Any]]) -> None:
    versions = collect()["versions"]
    # Of the log; what is installed here is another release of each.
    assert versions["megatron-core"] == "0.18.2"
    assert versions["torch"] == "2.13.0+cu130"
    assert versions["python"] == "3.12.1"


def test_versions_of_a_program_that_states_none(collect: Callable[..., dict[str, Any]]) -> None:
    record = collect(LogSummary())
    assert record["versions"]["python"] == platform.python_version()
    assert (record["run"], record["series"], record["hardware"]["device"]) == ({}, {}, None)
    assert record["label"] == "cpu-simulated"  # the block's own word


def test_series(collect: Callable[..., dict[str, Any]]) -> None:
    series = collect()["series"]
    assert {name: len(points) for name, points in series.items()} == {"train": 4, "resume": 2, "reference": 4}
    assert series["resume"] == series["train"][2:]
    assert series["train"][0][0] == 1


@pytest.mark.parametrize(
    ("loss", "grad_norm", "point"),
    [
        (4.5, 1.25, [1, 4.5, 1.25]),
        (math.nan, 1.0, [1, "nan", 1.0]),
        (math.inf, -math.inf, [1, "inf", "-inf"]),
        (0.0, None, [1, 0.0, None]),
        (None, None, [1, None, None]),
    ],
)
def test_numbers_that_json_does_not_have(
    collect: Callable[..., dict[str, Any]], loss: float | None, grad_norm: float | None, point: list[Any]
) -> None:
    log = LogSummary()
    log.add(Iteration(1, 0, 1, 1, {} if loss is None else {"lm loss": loss}, grad_norm=grad_norm))
    record = collect(log)
    assert record["series"] == {"training": [point]}
    json.dumps(record, allow_nan=False)


def test_no_path_of_the_machine(
    collect: Callable[..., dict[str, Any]], card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / "someone"
    monkeypatch.setenv("HOME", str(home))
    checkout = tmp_path / "Megatron-Bridge"
    places = {
        f"{tempfile.gettempdir()}/mbridge-skills-x/iter_4": "{tmp}/mbridge-skills-x/iter_4",
        f"{home}/data": "~/data",
        f"{sys.prefix}/lib/python3/torch.py": "{environment}/lib/python3/torch.py",
        f"'{card.path}'": "'{skill}/card.yaml'",
        f"{checkout}/tests/x.py": "{checkout}/tests/x.py",
    }
    text = "FileNotFoundError: " + ", ".join(places)
    bad = CriterionResult("clean-exit", "Clean exit", True, failed(text, "limit", text))
    record = collect(criteria=(bad,), folder=checkout, notes=(text,))
    found = json.dumps(record)
    for place in (
        str(tmp_path),
        str(home),
        tempfile.gettempdir(),
        sys.prefix,
        str(Path(__file__).parents[2]),
    ):
        assert place not in found
    assert record["criteria"][0]["detail"] == "FileNotFoundError: " + ", ".join(places.values())


@pytest.mark.parametrize(
    "text",
    [
        "at /opt/tmp/x",  # only a whole beginning is replaced
        "/tmpfs/x",
        "~ is no place, and neither is /",
        "{tmp}",
    ],
)
def test_other_paths_stay(
    collect: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    monkeypatch.setenv("HOME", "/")
    assert collect(notes=(text,))["notes"] == [text]


class TestGit:
    @pytest.fixture
    def git(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]

        def call(*words: str) -> str:
            done = subprocess.run(
                ["git", "-C", str(tmp_path), *who, *words], capture_output=True, text=True, check=True
            )
            return done.stdout.strip()

        return call

    def test_outside_a_repository(self, git: Callable[..., str], collect: Callable[..., Any]) -> None:
        assert collect()["git"] is None

    def test_in_one(self, git: Callable[..., str], collect: Callable[..., Any], card: Card) -> None:
        git("init", "-q")
        git("add", "example-skill")
        assert collect()["git"] is None  # without a commit
        git("commit", "-q", "-m", "x")
        assert collect()["git"] == {"commit": git("rev-parse", "HEAD"), "clean": True}
        (card.path.parent / "evidence.json").write_text("{}")
        assert collect()["git"]["clean"] is True  # a file beside it does not change what was run
        card.path.write_text(card.path.read_text() + "# changed\n")
        assert collect()["git"] == {"commit": git("rev-parse", "HEAD"), "clean": False}

    def test_in_an_ignored_folder_of_one(
        self, git: Callable[..., str], collect: Callable[..., Any], tmp_path: Path
    ) -> None:
        """An installed bundle in the virtual environment of another project is not part of that project."""
        (tmp_path / ".gitignore").write_text("example-skill/\n")
        git("init", "-q")
        git("add", ".gitignore")
        git("commit", "-q", "-m", "x")
        assert collect()["git"] is None

    def test_without_git(
        self, collect: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert collect()["git"] is None


class TestFiles:
    def test_write_and_read(self, collect: Callable[..., Any], tmp_path: Path) -> None:
        path = tmp_path / "evidence" / "a.json"
        record = collect()
        evidence.write(path, record)
        assert json.loads(path.read_text(encoding="utf-8")) == record
        assert path.read_bytes().endswith(b"}\n")
        assert evidence.block_of(path) == "smoke"

    def test_text_that_has_no_utf_8(self, collect: Callable[..., Any], tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        evidence.write(path, collect(notes=("\ud800 ü",)))
        assert json.loads(path.read_text(encoding="utf-8"))["notes"] == ["\ud800 ü"]

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", "null", '"text"', "{}", '{"format": "other/1", "block": "smoke"}', "\x00"]
    )
    def test_no_evidence(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "a.json"
        path.write_text(text)
        assert evidence.block_of(path) is None

    def test_what_cannot_be_read(self, tmp_path: Path) -> None:
        assert evidence.block_of(tmp_path / "missing.json") is None
        assert evidence.block_of(tmp_path) is None
        (tmp_path / "latin.json").write_bytes(b'{"format": "\xe9"}')
        assert evidence.block_of(tmp_path / "latin.json") is None
