import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from mbridge_skills.errors import CannotRunError
from mbridge_skills.verify.launcher import Command, Limits, Watchers, running

GENEROUS = Limits(timeout=60, stall=60)


@pytest.fixture
def follow(tmp_path):
    """Run Python code under the guard; gives the outcome and what was printed."""

    def run(code: str, limits: Limits = GENEROUS, tick=lambda: None, **environment):
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        seen: list[bytes] = []
        argv = [sys.executable, "-c", textwrap.dedent(code)]
        with running(Command(argv, tmp_path, environment, scratch)) as process:
            outcome = process.follow(limits, scratch / "log", Watchers(seen.append, tick))
            assert (scratch / "log").read_bytes() == b"".join(seen)
        assert not scratch.exists(), "the guard removes the scratch folder"
        return outcome, b"".join(seen).decode()

    return run


@pytest.mark.parametrize("code", [0, 1, 3, 77])
def test_the_exit_code_is_the_commands_own(follow, code):
    outcome, _ = follow(f"raise SystemExit({code})")
    assert (outcome.ended, outcome.exit_code) == ("exited", code)
    assert outcome.clean == (code == 0)


def test_a_signal_is_a_negative_exit_code(follow):
    outcome, _ = follow("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert outcome.exit_code == -signal.SIGSEGV


def test_both_streams_are_followed_in_order(follow):
    _, text = follow(
        """
        import sys
        for number in range(3):
            print("out", number, flush=True)
            print("err", number, file=sys.stderr, flush=True)
        """
    )
    assert text.split("\n")[:-1] == ["out 0", "err 0", "out 1", "err 1", "out 2", "err 2"]


def test_a_large_output_is_whole(follow):
    _, text = follow("import sys; sys.stdout.write('x' * 3_000_000)")
    assert len(text) == 3_000_000


def test_no_output_at_all(follow):
    outcome, text = follow("pass")
    assert outcome.clean
    assert text == ""


def test_the_environment_is_the_present_one_with_changes(follow, monkeypatch):
    monkeypatch.setenv("KEPT", "kept")
    monkeypatch.setenv("TAKEN", "taken")
    _, text = follow(
        "import os; print(os.environ['KEPT'], os.environ['ADDED'], 'TAKEN' in os.environ)",
        ADDED="added",
        TAKEN=None,
    )
    assert text == "kept added False\n"


def test_arguments_are_never_seen_by_a_shell(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    seen: list[bytes] = []
    argv = [sys.executable, "-c", "import sys; print(sys.argv[1])", "$(touch harm); `touch harm` > harm"]
    with running(Command(argv, tmp_path, {}, scratch)) as process:
        process.follow(GENEROUS, scratch / "log", Watchers(seen.append, lambda: None))
    assert b"".join(seen).decode().strip() == argv[-1]
    assert not (tmp_path / "harm").exists()


def test_a_command_that_is_not_there(tmp_path):
    (tmp_path / "scratch").mkdir()
    command = Command(["/no/such/program"], tmp_path, {}, tmp_path / "scratch")
    with pytest.raises(CannotRunError, match=r"/no/such/program: No such file"), running(command) as process:
        process.follow(GENEROUS, tmp_path / "log", Watchers(lambda _: None, lambda: None))


def test_a_time_limit(follow):
    outcome, text = follow(
        """
        import itertools, time
        for number in itertools.count():
            print(number, flush=True)
            time.sleep(0.05)
        """,
        Limits(timeout=1, stall=30),
    )
    assert outcome.ended == "timeout"
    assert outcome.seconds < 10
    assert text.startswith("0\n1\n")


def test_silence_is_a_hang(follow):
    outcome, text = follow("import time; print('last', flush=True); time.sleep(600)", Limits(60, 1))
    assert outcome.ended == "stalled"
    assert text == "last\n"


def test_output_keeps_the_hang_limit_away(follow):
    outcome, _ = follow(
        "import time\nfor _ in range(8): print('.', flush=True); time.sleep(0.25)", Limits(60, 1)
    )
    assert outcome.clean


def test_who_ignores_the_request_to_end_is_killed(follow):
    outcome, _ = follow(
        """
        import signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("deaf", flush=True)
        time.sleep(600)
        """,
        Limits(timeout=0.5, stall=30),
    )
    assert (outcome.ended, outcome.exit_code) == ("timeout", -signal.SIGKILL)


def test_what_a_command_leaves_running_is_ended(follow, alive):
    mark = f"left-behind-{os.getpid()}"
    outcome, _ = follow(
        f"""
        import subprocess, sys
        for new_session in (False, True):
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{mark}"],
                             start_new_session=new_session)
        """
    )
    assert outcome.clean
    assert not alive(mark)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_this_program_ends_the_command(follow, number):
    sent = []

    def send_once():
        if not sent:
            sent.append(number)
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    outcome, _ = follow("import time; time.sleep(600)", tick=send_once)
    assert outcome.ended == "interrupted"
    assert signal.getsignal(number) is before


class TestKilled:
    """The program that follows a command is killed: nothing of the command may stay."""

    PROGRAM = """
        import sys
        from pathlib import Path
        from mbridge_skills.verify.launcher import Command, Limits, Watchers, running
        scratch = Path(sys.argv[1])
        child = "import time, subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; "
        child += "time.sleep(600)', sys.argv[1]], start_new_session=True); print('up', flush=True); "
        child += "time.sleep(600)"
        with running(Command([sys.executable, "-c", child, sys.argv[2]], scratch, {}, scratch)) as process:
            process.follow(Limits(60, 60), scratch / "log",
                           Watchers(lambda data: print(data.decode(), flush=True), lambda: None))
    """

    @pytest.mark.parametrize("when", ["at once", "while it runs"])
    def test_by_kill_9(self, tmp_path, alive, when):
        mark, scratch = f"orphan-{os.getpid()}-{when[:2]}", tmp_path / "scratch"
        scratch.mkdir()
        program = [sys.executable, "-c", textwrap.dedent(self.PROGRAM), str(scratch), mark]
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
            if when == "while it runs":
                assert process.stdout.readline() == "up\n"
                assert alive(mark)
            process.kill()
        deadline = time.monotonic() + 5
        while (alive(mark) or scratch.exists()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not alive(mark)
        assert when == "at once" or not scratch.exists()
