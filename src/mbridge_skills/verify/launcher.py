"""Running a command under the guard, with its output streamed to a file and handed on as it comes."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mbridge_skills.errors import CannotRunError

Ended = Literal["exited", "timeout", "stalled", "interrupted"]
_TICK_SECONDS = 0.1
_DRAIN_SECONDS = 5.0  # how long output may still come once the command has ended


@dataclass(frozen=True)
class Limits:
    """Seconds. ``stall``: how long the command may print nothing before it counts as hanging."""

    timeout: float
    stall: float


@dataclass(frozen=True)
class Outcome:
    """How a command ended. ``exit_code`` is negative where a signal ended it."""

    ended: Ended
    exit_code: int
    seconds: float

    @property
    def clean(self) -> bool:
        """Whether it ended by itself and reported success."""
        return self.ended == "exited" and self.exit_code == 0


@dataclass(frozen=True)
class Command:
    """What to run. ``environment`` is added to the present one; a value of None takes a variable away."""

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str | None]
    scratch: Path  # removed when this program ends, however it ends


@dataclass
class Watchers:
    """What is told of the output: raw bytes as they come, and a regular tick for a display."""

    output: Callable[[bytes], None]
    tick: Callable[[], None]


class Running:
    """A command under the guard. Keeps the guard, and so the scratch folder, until :meth:`release`."""

    def __init__(self, command: Command) -> None:
        self._life_of_guard, self._life = os.pipe()
        self._status, status_of_guard = os.pipe()
        guard = [sys.executable, "-m", "mbridge_skills.verify.guard"]
        pipes = ["--life", str(self._life_of_guard), "--status", str(status_of_guard)]
        self._guard = subprocess.Popen(
            [*guard, *pipes, "--scratch", str(command.scratch), "--", *command.argv],
            cwd=command.folder,
            env=_environment(command.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(self._life_of_guard, status_of_guard),
        )
        os.close(self._life_of_guard)
        os.close(status_of_guard)

    def follow(self, limits: Limits, log: Path, watchers: Watchers) -> Outcome:
        """Wait for the end, writing the output to ``log``.

        The command is ended when it exceeds a limit, or when this program gets SIGINT, SIGTERM or SIGHUP.

        Raises:
            CannotRunError: the command could not be started.
        """
        begun = last_output = time.monotonic()
        ended: Ended = "exited"
        status: int | None = None
        assert self._guard.stdout is not None
        with _signals_noted() as noted, log.open("wb") as file, selectors.DefaultSelector() as selector:
            output = self._guard.stdout.fileno()
            selector.register(output, selectors.EVENT_READ)
            selector.register(self._status, selectors.EVENT_READ)
            drain_until = float("inf")
            open_output = True
            while (open_output or status is None) and time.monotonic() < drain_until:
                for key, _ in selector.select(_TICK_SECONDS):
                    data = os.read(key.fd, 1 << 16)
                    if key.fd == output and data:
                        last_output = time.monotonic()
                        file.write(data)
                        file.flush()
                        watchers.output(data)
                    elif key.fd == output:
                        selector.unregister(output)
                        open_output = False
                    else:
                        selector.unregister(self._status)
                        status = _exit_status(data)
                        drain_until = time.monotonic() + _DRAIN_SECONDS
                watchers.tick()
                if ended == "exited" and status is None:
                    reason = _reason_to_end(bool(noted), begun, last_output, limits)
                    if reason:
                        ended = reason
                        self._ask_to_end()
        return Outcome(ended, status if status is not None else -signal.SIGKILL, time.monotonic() - begun)

    def release(self) -> None:
        """Let the guard go; it removes the scratch folder."""
        with contextlib.suppress(OSError):
            os.close(self._life)
        with contextlib.suppress(OSError):
            os.close(self._status)
        if self._guard.stdout:
            self._guard.stdout.close()
        self._guard.wait()

    def _ask_to_end(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self._life, b"stop\n")


@contextlib.contextmanager
def running(command: Command) -> Iterator[Running]:
    """Start ``command``; at the end of the block, nothing of it is left.

    Raises:
        CannotRunError: no process could be started.
    """
    try:
        started = Running(command)
    except OSError as error:
        shutil.rmtree(command.scratch, ignore_errors=True)  # there is no guard to do it
        raise CannotRunError(f"cannot start the guard process: {error}") from error
    try:
        yield started
    finally:
        started.release()


def _reason_to_end(told: bool, begun: float, last_output: float, limits: Limits) -> Ended | None:
    now = time.monotonic()
    if told:
        return "interrupted"
    if now - begun > limits.timeout:
        return "timeout"
    if now - last_output > limits.stall:
        return "stalled"
    return None


def _exit_status(data: bytes) -> int:
    """The guard's message. No message: the guard itself was killed, and the command with it."""
    message = json.loads(data) if data else {"exit": -signal.SIGKILL}
    if "error" in message:
        raise CannotRunError(f"cannot start the command: {message['error']}")
    return int(message["exit"])


def _environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    for name, value in changes.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment


@contextlib.contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Collect the signals that ask this program to end, in place of their usual effect."""
    noted: list[int] = []
    before = {
        number: signal.signal(number, lambda received, _: noted.append(received))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
