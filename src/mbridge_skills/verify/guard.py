"""The guard: runs one command and makes sure that nothing of it outlives the program that asked for it.

Started by :mod:`mbridge_skills.verify.launcher` in a session of its own, as
``python -m mbridge_skills.verify.guard --life FD --status FD --scratch DIR -- COMMAND...``.

- The *life* pipe's other end is held by the asking program alone. A line ``stop`` on it asks for an orderly
  end; its end-of-file means that the program is gone, by whatever way, ``kill -9`` included: everything that
  runs is killed at once, and the scratch folder is removed.
- torchrun starts its workers in sessions of their own, where a signal to its process group does not reach
  them. On Linux the guard is therefore the reaper of all orphans below it, and finds every descendant by
  its parent.
- When the command ends, what it left running is killed, and its exit status goes to the *status* pipe.

Needs the standard library alone, and imports little: it must be at work before anything can go wrong.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

GRACE_SECONDS = 5.0  # between the request to end and the kill
_POLL_SECONDS = 0.05
_PR_SET_CHILD_SUBREAPER = 36


def main(argv: list[str]) -> int:
    """Run the command after ``--``; see the module's text for the options."""
    split = argv.index("--")
    options = dict(zip(argv[:split:2], argv[1:split:2], strict=True))
    command = argv[split + 1 :]
    life, status = int(options["--life"]), int(options["--status"])
    _adopt_orphans()
    # The terminal's Ctrl-C is the asking program's business; it tells the guard through the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        _tell(status, {"error": f"{command[0]}: {error.strerror}"})
    else:
        _release_output()
        _tell(status, {"exit": _watch(process, life)})
    os.close(status)
    _wait_for_end_of_life(life)
    shutil.rmtree(options["--scratch"], ignore_errors=True)
    return 0


def _watch(process: subprocess.Popen[bytes], life: int) -> int:
    """Wait for the command, or end it when told to; then end what it left. Returns its exit status."""
    asked, kill_at = False, float("inf")
    alone = False  # the program that asked for the command is gone
    while process.poll() is None:
        _reap_orphans(process.pid)
        if time.monotonic() >= kill_at:
            _kill_descendants(signal.SIGKILL)
        readable, _, _ = select.select([] if alone else [life], [], [], _POLL_SECONDS)
        if readable and not os.read(life, 4096):
            alone, kill_at = True, 0.0
        elif readable and not asked:
            asked, kill_at = True, time.monotonic() + GRACE_SECONDS
            _kill_descendants(signal.SIGTERM)
    while _kill_descendants(signal.SIGKILL):
        _reap_orphans(None)
        time.sleep(_POLL_SECONDS)
    return process.returncode


def _wait_for_end_of_life(life: int) -> None:
    while os.read(life, 4096):
        pass


def _adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reap_orphans(spare: int | None) -> None:
    """Collect ended orphans, so that they do not stay as zombies; never the command itself."""
    for child in _children().get(os.getpid(), []):
        if child != spare:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)


def _kill_descendants(signal_number: int) -> int:
    """Signal every living descendant; returns how many there were."""
    children = _children()
    pending, found = list(children.get(os.getpid(), [])), []
    while pending:
        process = pending.pop()
        found.append(process)
        pending.extend(children.get(process, []))
    for process in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal_number)
    return len(found)


def _children() -> dict[int, list[int]]:
    """Parent process id -> ids of its children that are no zombies of others."""
    table: dict[int, list[int]] = {}
    for process, parent in _process_table():
        table.setdefault(parent, []).append(process)
    return table


def _process_table() -> list[tuple[int, int]]:
    if not Path("/proc/self/stat").exists():
        listing = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False
        )
        lines = [line.split() for line in listing.stdout.splitlines()]
        return [(int(process), int(parent)) for process, parent in lines]
    table = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            # The name, in parentheses, may hold spaces; the parent is the second field behind it.
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                table.append((int(entry.name), int(fields[1])))
    return table


def _release_output() -> None:
    """Let go of the output pipe: it must end when the command's last process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _tell(status: int, message: dict[str, object]) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(status, json.dumps(message).encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
