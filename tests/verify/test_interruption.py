"""Ending ``skill run verify`` from outside, in the middle of real training."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.training


@pytest.fixture
def started(tmp_path, make_bundle):
    """``verify`` on the program that ignores every signal, from the moment that its ranks work."""
    command = [sys.executable, "-m", "mbridge_skills", "run", "verify", "--tier", "cpu", "--format", "json"]
    bundle = make_bundle("deaf_to_sigterm")
    errors = (tmp_path / "stderr").open("w+")
    with subprocess.Popen(
        [*command, "--bundle", str(bundle), "--report", str(tmp_path / "reports")],
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        yield process
        process.kill()
    errors.close()


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_is_not_verified_and_leaves_nothing(started, alive, number, tmp_path):
    assert wait_for(lambda: len(alive("planted/deaf_to_sigterm.py")) >= 3, 60)
    started.send_signal(number)
    output, _ = started.communicate(timeout=30)
    report = json.loads(output)
    assert started.returncode == 3
    assert report["status"] == "not verified"
    assert "interrupted" in next(block["reason"] for block in report["blocks"] if block["asked"])
    assert not alive("planted/deaf_to_sigterm.py")
    assert not list(tmp_path.glob("mbridge-skills-*"))
    for file in (tmp_path / "reports").glob("*.json"):
        json.loads(file.read_text())


def test_kill_9_leaves_nothing_within_5_seconds(started, alive, tmp_path):
    assert wait_for(lambda: len(alive("planted/deaf_to_sigterm.py")) >= 3, 60)
    started.kill()
    assert wait_for(lambda: not alive("planted/deaf_to_sigterm.py"), 5)
    assert wait_for(lambda: not list(tmp_path.glob("mbridge-skills-*")), 5)
    assert not list((tmp_path / "reports").iterdir())
