"""Running ``verify`` as a user does, in a process of its own, and seeing what it leaves."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def verify(tmp_path):
    """Run ``verify --format json`` in a process of its own; gives exit code, report and standard error."""

    def run(*options: str, bundle: Path | None = None):
        words = [sys.executable, "-m", "mbridge_skills", "run", "verify", "--format", "json"]
        where = ["--bundle", str(bundle)] if bundle else []
        done = subprocess.run(
            [*words, *where, *options], capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False
        )
        report = json.loads(done.stdout) if done.stdout else None
        return done.returncode, report, done.stderr

    return run


@pytest.fixture
def criteria():
    """The criteria of the block that was asked for: id -> record."""

    def pick(report):
        (block,) = [block for block in report["blocks"] if block["asked"]]
        return {record["id"]: record for record in block["criteria"]}

    return pick


@pytest.fixture
def alive():
    """Processes whose command line holds a text, other than this one."""

    def find(text: str) -> dict[int, str]:
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                    if text in command and state != "Z":
                        found[int(entry.name)] = command
        return found

    return find
