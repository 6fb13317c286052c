from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mbridge_skills.cli.triage import command

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "fixtures" / "logs"
PP2 = str(LOGS / "bridge-0.6.2-core-0.19.2-2xH200.mfsdp-pp2.failed.log")
FSDP2 = str(LOGS / "bridge-0.6.2-core-0.19.2-2xH200.fsdp2-distributed-optimizer.failed.log")
PASSED = str(LOGS / "made-smoke.passed.log")
UNKNOWN = str(LOGS / "made-srun-labels.oom-kill.log")


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def triage(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = command.main(["--bundle", str(ROOT), *words], standalone_mode=False)
    captured = capsys.readouterr()
    return int(code), captured.out, captured.err


def test_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = triage(capsys, FSDP2)
    assert (code, err) == (0, "")
    assert f"{FSDP2}: explained by MB612\n" in out
    assert "  failure: line 306, rank 0: TypeError: 'method' object is not iterable\n" in out
    assert "    fix (safe):\n      ddp.use_distributed_optimizer = False\n" in out
    assert "    more: mbridge-skills explain MB612\n" in out
    assert all(len(line) <= 80 for line in out.splitlines() if FSDP2 not in line)


def test_no_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert "gotcha: MB330 " in triage(capsys, PP2)[1]


def test_unknown_and_several(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = triage(capsys, PASSED, PP2, UNKNOWN)
    assert code == 1
    assert f"{PASSED}: no failure\n\n{PP2}: explained by MB330\n" in out
    assert f"{UNKNOWN}: unknown failure: no gotcha explains it\n  failure: line 14: out-of-memory" in out
    assert triage(capsys, PASSED, PP2)[0] == 0


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = triage(capsys, "--format", "json", PP2, PASSED, UNKNOWN)
    assert code == 1
    data = json.loads(out)
    assert data["format"] == "skill-triage/1"
    assert [log["status"] for log in data["logs"]] == ["explained", "no failure", "unknown"]
    first = data["logs"][0]
    assert (first["failure"]["line"], first["failure"]["rank"]) == (352, 0)
    assert first["candidates"][0]["code"] == "MB330"
    assert first["candidates"][0]["evidence"]["line"] == 385
    assert data["logs"][1]["failure"] is None


def test_unreadable(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = tmp_path / "broken.gz"
    broken.write_bytes(gzip.compress(b"a line\n" * 1000)[:-20])
    for path in (tmp_path / "missing.log", tmp_path, broken):
        code, out, err = triage(capsys, str(path), PP2)
        assert code == 2
        assert f"error: {path}: cannot read the log: " in err
        assert "explained by MB330" in out  # the others are judged all the same


def test_texts_are_no_markup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    f()\n'
        "ValueError: [red]x[/red] [/y] \x1b]0;title\x07 end\n"
    )
    out = triage(capsys, str(path))[1]
    assert "ValueError: [red]x[/red] [/y]" in out
    assert "\x1b" not in out
    assert "\x07" not in out
