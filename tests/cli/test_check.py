from __future__ import annotations

import json
from pathlib import Path

import pytest

from mbridge_skills.cli.main import run

ROOT = Path(__file__).parents[2]
FSDP = {"ddp.use_megatron_fsdp": True, "dist.use_megatron_fsdp": True, "train.global_batch_size": 8}


@pytest.fixture
def batch(tmp_path: Path) -> str:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps({"id": "a", "config": FSDP}) + "\n")
    return str(path)


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, object]], str]:
    code = run(["run", "check", "--bundle", str(ROOT), *words])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


def test_ok(capsys: pytest.CaptureFixture[str], batch: str) -> None:
    code, lines, _ = check(capsys, "--batch", batch, "--bridge-version", "0.6.2", "--world-size", "8")
    assert (code, [(line["id"], line["verdict"]) for line in lines]) == (0, [("a", "ok")])


def test_error_and_exit_zero(capsys: pytest.CaptureFixture[str], batch: str) -> None:
    words = ["--batch", batch, "--bridge-version", "0.6.2", "--world-size", "8"]
    words += ["--env", "CUDA_DEVICE_MAX_CONNECTIONS=1"]
    assert check(capsys, *words)[0] == 1
    code, lines, _ = check(capsys, *words, "--exit-zero")
    assert (code, lines[0]["verdict"]) == (0, "error")


def test_an_older_release_does_not_look_at_the_environment(
    capsys: pytest.CaptureFixture[str], batch: str
) -> None:
    words = ["--batch", batch, "--world-size", "8", "--env", "CUDA_DEVICE_MAX_CONNECTIONS=1"]
    assert check(capsys, *words, "--bridge-version", "0.4.2")[1][0]["verdict"] == "ok"


def test_the_world_size_matters(capsys: pytest.CaptureFixture[str], batch: str) -> None:
    words = ["--batch", batch, "--bridge-version", "0.6.2"]
    assert check(capsys, *words)[1][0]["verdict"] == "unknown"
    assert check(capsys, *words, "--world-size", "16")[1][0]["verdict"] == "error"


@pytest.mark.parametrize(("device", "verdict"), [("h100", "ok"), ("B200", "ok"), ("rtxpro6000", "error")])
def test_device(capsys: pytest.CaptureFixture[str], tmp_path: Path, device: str, verdict: str) -> None:
    path = tmp_path / "flex.jsonl"
    config = {"model.moe_token_dispatcher_type": "flex", "train.global_batch_size": 8}
    path.write_text(json.dumps({"config": config}))
    words = ["--batch", str(path), "--bridge-version", "0.6.2", "--world-size", "8", "--device", device]
    assert check(capsys, *words)[1][0]["verdict"] == verdict


def test_an_assumed_release_is_said(
    capsys: pytest.CaptureFixture[str], batch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mbridge_skills.releases.detect._installed", dict)
    monkeypatch.setattr("mbridge_skills.releases.detect._nearest_lock", lambda folder: None)
    _, lines, said = check(capsys, "--batch", batch, "--world-size", "8")
    assert lines[0]["verdict"] == "ok"
    assert "release unknown: judged for megatron-bridge 0.6.2 with megatron-core 0.19.2" in said


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--batch", "missing.jsonl"],
        ["--batch", "{batch}", "--bridge-version", "0.2.0"],
        ["--batch", "{batch}", "--bridge-version", "main"],
        ["--batch", "{batch}", "--env", "NAME"],
        ["--batch", "{batch}", "--world-size", "0"],
        ["--batch", "{batch}", "--device", "abacus"],
    ],
)
def test_usage(capsys: pytest.CaptureFixture[str], batch: str, words: list[str]) -> None:
    code, lines, said = check(capsys, *(word.replace("{batch}", batch) for word in words))
    assert (code, lines) == (2, [])
    assert "rror" in said
