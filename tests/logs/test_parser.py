from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mbridge_skills.logs.events import (
    Checkpoint,
    Environment,
    Event,
    Fault,
    Finished,
    Iteration,
    LauncherFailure,
    Phase,
    PytestFailure,
    PytestSession,
    PytestSummary,
    Traceback,
    TrainingDone,
)
from mbridge_skills.logs.parser import LogParser, parse_file

FIXTURES = sorted((Path(__file__).parent.parent / "fixtures" / "logs").glob("*.log"))
Real = Callable[[str], Path]

# Pieces that a recogniser, the splitter or the attribution takes for the beginning of something.
PIECES = [
    b"\n",
    b"\r",
    b" ",
    b"x",
    b"\xff",
    b"\0",
    b"\x1b[31m",
    b"[rank1]: ",
    b"[default0]:",
    b"[Rank 2] ",
    b"0: ",
    b"1: ",
    b"Traceback (most recent call last):\n",
    b'  File "x.py", line 1, in f\n',
    b"ValueError: y\n",
    b"    ^^^\n",
    b"\nDuring handling of the above exception, another exception occurred:\n\n",
    b"failed on rank=1 with ValueError: ",
    b" [2026-11-30 19:45:37] iteration        1/       2 | lm loss: 8.3E+00 | grad norm: nan |",
    b" number of nan iterations:   0 |",
    b"Step Time : 0.12s GPU utilization: 2.5MODEL_TFLOP/s/GPU",
    b"=== 1 passed in 2.00s ===",
    b"== test session starts ==",
    b"FAILED a.py::t - x",
    b"Failures:\n",
    b"[0]:\n",
    b"Root Cause (first observed failure):\n",
    b"  rank      : 1 (local_rank: 1)\n",
    b"======\n",
    b'[mbridge-skills] {"event": "phase", "phase": "a"}',
    b"saving checkpoint at iteration       5 to /x\n",
    b"[after training is done] datetime: x\n",
    b"CUDA out of memory. ",
]


def events(*chunks: bytes) -> list[Event]:
    parser = LogParser()
    found = [event for chunk in chunks for event in parser.feed(chunk)]
    return [*found, *parser.close()]


def outline(found: list[Event]) -> list[tuple[int, str]]:
    return [(event.line, type(event).__name__) for event in found]


class TestRealLogs:
    def test_passed(self, real: Real) -> None:
        found = list(parse_file(real("test_fsdp_pretrain_basic.passed")))
        assert found == [
            PytestSession(5, None),
            PytestSession(7, None),
            Iteration(
                342,
                None,
                5,
                10,
                {"lm loss": 9.00598},
                None,
                2.354,
                84.24,
                2.074334e-3,
                1.0,
                0,
                0,
                1906.7,
                0.2,
                40,
                8,
            ),
            # Begins behind another rank's line.
            Iteration(
                348,
                None,
                10,
                10,
                {"lm loss": 8.367718},
                None,
                0.535,
                86.455,
                1e-6,
                1.0,
                0,
                0,
                122.1,
                2.5,
                80,
                8,
            ),
            TrainingDone(351, None),
            PytestSummary(433, None, {"passed": 1, "warnings": 35}, 40.31),
            PytestSummary(534, None, {"passed": 1, "warnings": 42}, 40.85),
        ]

    def test_without_fsdp(self, real: Real) -> None:
        *records, done = list(parse_file(real("ddp-distopt.ok")))
        assert isinstance(done, TrainingDone)
        assert [
            (record.iteration, record.loss, record.grad_norm, record.tflops)
            for record in records
            if isinstance(record, Iteration)
        ] == [
            (1, 9.262576, 1.737, 0.0),
            (2, 9.253757, 1.826, 4.1),
            (3, 8.403706, 5.451, 4.0),
            (4, 9.042826, 6.462, 4.2),
            (5, 9.031322, 2.074, 4.0),
            (6, 8.555599, 1.622, 4.3),
        ]

    def test_missing_makefile(self, real: Real) -> None:
        found = list(parse_file(real("dataset-helpers-makefile.failed")))
        assert outline(found) == [
            (5, "PytestSession"),
            (7, "PytestSession"),
            (289, "Traceback"),
            (371, "Traceback"),  # pytest repeats the captured log
            (455, "PytestFailure"),
            (456, "PytestSummary"),
            (461, "Traceback"),
            (482, "LauncherFailure"),
        ]
        first, again, failure, summary, launcher, block = found[2:]
        assert isinstance(first, Traceback)
        assert isinstance(again, Traceback)
        assert (first.exception, first.message, first.rank, first.launcher) == ("SystemExit", "1", 0, False)
        assert [(frame.file.rpartition("/")[2], frame.line, frame.function) for frame in first.frames] == [
            ("pretrain.py", 136, "_pretrain"),
            ("setup.py", 253, "setup"),
            ("initialize.py", 147, "initialize_megatron"),
            ("utils.py", 30, "compile_helpers"),
        ]
        assert (again.rank, again.frames) == (0, first.frames)
        assert isinstance(failure, PytestFailure)
        assert failure.node_id.endswith("test_megatron_fsdp.py::TestMegatronFSDP::test_fsdp_pretrain_basic")
        assert (failure.outcome, failure.reason) == ("failed", "SystemExit: 1")
        assert summary == PytestSummary(456, None, {"failed": 1, "warnings": 33}, 29.8)
        assert isinstance(launcher, Traceback)
        assert (launcher.exception, launcher.launcher, launcher.rank) == ("ChildFailedError", True, None)
        assert isinstance(block, LauncherFailure)
        assert (block.root_cause.rank, block.root_cause.exit_code, block.root_cause.pid) == (0, 1, 974)
        (other,) = block.others
        assert (other.rank, other.exit_code, other.pid) == (1, -9, 975)
        assert (other.time, other.host) == ("2026-11-30_19:44:28", "localhost")
        assert other.message == "Signal 9 (SIGKILL) received by PID 975"

    @pytest.mark.parametrize(
        ("name", "exception", "message", "ranks", "innermost"),
        [
            (
                "fsdp2-distributed-optimizer",
                "TypeError",
                "'method' object is not iterable",
                [0, 1],
                "__init__",
            ),
            (
                "mfsdp-pp2",
                "EinopsError",
                'Error while processing rearrange-reduction pattern "(dp_cp ep tp) -> ep dp_cp tp".\n'
                " Input tensor shape: torch.Size([2]). Additional info: {'dp_cp': 1, 'tp': 1, 'ep': 1}.\n"
                " Shape mismatch, 2 != 1",
                [1, 0],
                "reduce",
            ),
        ],
    )
    def test_both_ranks_fail(
        self, real: Real, name: str, exception: str, message: str, ranks: list[int], innermost: str
    ) -> None:
        found = list(parse_file(real(name)))
        assert [type(event) for event in found] == [Traceback, Traceback, Traceback, LauncherFailure]
        for event, rank in zip(found, ranks, strict=False):
            assert isinstance(event, Traceback)
            assert (event.exception, event.message, event.rank) == (exception, message, rank)
            assert event.frames[-1].function == innermost
        block = found[-1]
        assert isinstance(block, LauncherFailure)
        assert (block.root_cause.rank, [other.rank for other in block.others]) == (0, [1])


class TestMadeLogs:
    def test_old_megatron_cut_off(self, logs: Path) -> None:
        found = list(parse_file(logs / "made-megatron-lm-undated.cut.log"))
        checkpoints = [event for event in found if isinstance(event, Checkpoint)]
        assert [(event.action, event.stage, event.iteration) for event in checkpoints] == [
            ("load", "started", 100),
            ("load", "finished", 100),
            ("save", "started", 150),
            ("save", "finished", 150),
        ]
        records = [event for event in found if isinstance(event, Iteration)]
        assert [record.iteration for record in records] == [110, 120, 130, 140, 150, 160]
        assert [record.complete for record in records] == [True] * 5 + [False]
        third, last = records[2], records[-1]
        assert third.loss is not None
        assert third.grad_norm is not None
        assert math.isnan(third.loss)
        assert math.isnan(third.grad_norm)
        assert (third.skipped, third.nan) == (1, 1)
        assert (last.losses, last.learning_rate, last.global_batch_size) == ({}, 1.5e-4, 16)

    def test_new_megatron_under_torchrun(self, logs: Path) -> None:
        found = list(parse_file(logs / "made-megatron-lm-tee-moe.out-of-memory.log"))
        records = [event for event in found if isinstance(event, Iteration)]
        assert [(record.rank, record.loss, record.tflops) for record in records] == [
            (3, 8.0, 400.5),
            (3, 7.0, 400.5),
            (3, 6.0, 400.5),
        ]
        assert records[0].losses == {"lm loss": 8.0, "load_balancing_loss": 1.01, "mtp_1 loss": 8.5}
        assert [event.stage for event in found if isinstance(event, Checkpoint)] == [
            "started",
            "scheduled",
            "finished",
        ]
        faults = [event for event in found if isinstance(event, Fault)]
        assert [(fault.kind, fault.rank) for fault in faults] == [("gloo", 1), ("out-of-memory", 2)]
        tracebacks = [event for event in found if isinstance(event, Traceback)]
        assert [(traceback.exception, traceback.rank) for traceback in tracebacks] == [
            ("ChildFailedError", None),
            ("RuntimeError", 1),
            ("OutOfMemoryError", 2),
        ]

    def test_smoke_program(self, logs: Path) -> None:
        found = list(parse_file(logs / "made-smoke.passed.log"))
        assert [event.name for event in found if isinstance(event, Phase)] == ["reference", "fsdp"]
        assert isinstance(found[0], Environment)
        assert found[0].fields == {"device": "cpu", "torch": "2.13.0", "world_size": 2}
        records = [event for event in found if isinstance(event, Iteration)]
        assert [(record.phase, record.iteration, record.loss) for record in records] == [
            ("reference", 1, 4.5),
            ("reference", 2, 4.4),
            ("fsdp", 1, 4.5),
            ("fsdp", 2, 4.400001),
        ]
        assert [event.rank for event in found if isinstance(event, Finished)] == [1, 0]

    def test_srun_with_windows_newlines(self, logs: Path) -> None:
        found = list(parse_file(logs / "made-srun-labels.oom-kill.log"))
        assert [(event.line, event.rank) for event in found] == [(13, 3), (14, None), (15, None)]
        assert [event.kind for event in found if isinstance(event, Fault)] == ["out-of-memory"] * 2


def test_lines_are_given_to_the_caller() -> None:
    seen: list[tuple[Any, ...]] = []
    parser = LogParser(on_line=lambda *line: seen.append(line))
    parser.feed(b"a\n[rank1]: \x1b[1mb\x1b[0m\n\n[default2]:10%\r20%\rdone\r\nlast")
    assert seen == [(1, None, "a"), (2, 1, "b"), (3, None, ""), (4, 2, "10%"), (4, 2, "20%"), (4, 2, "done")]
    parser.close()
    assert seen[-1] == (5, None, "last")
    assert parser.bytes_read == 51


def test_an_event_is_given_with_its_line(real: Real) -> None:
    parser = LogParser()
    for number, line in enumerate(real("passed").read_bytes().splitlines(keepends=True), 1):
        assert all(event.line == number for event in parser.feed(line))
    assert list(parser.close()) == []


def test_the_bytes_are_read_though_the_events_are_not_taken() -> None:
    parser = LogParser()
    parser.feed(b'[mbridge-skills] {"event": "phase", "phase": "a"}\n')
    assert parser.phase == "a"


def test_gzipped(real: Real, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(gzip.compress(real("passed").read_bytes()))
    assert list(parse_file(path)) == list(parse_file(real("passed")))


def test_a_broken_gzip_is_an_error(real: Real, tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(real("passed").read_bytes())[:100])
    with pytest.raises(EOFError):
        list(parse_file(path))


@pytest.mark.parametrize("data", [b"", b"\x1f", b"\n"])
def test_hardly_anything(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(data)
    assert list(parse_file(path)) == []


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_any_chunk_size_gives_the_same_events(path: Path, size: int) -> None:
    data = path.read_bytes()
    assert repr(events(*(data[at : at + size] for at in range(0, len(data), size)))) == repr(events(data))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_any_prefix_of_a_log_is_read(path: Path, data: st.DataObject) -> None:
    log = path.read_bytes()
    whole = set(outline(events(log)))
    prefix = log[: data.draw(st.integers(0, len(log)))]
    found = events(prefix)
    # What is cut off may look different; what stands before it does not.
    lines = prefix.count(b"\n")
    settled = [event for event in outline(found) if event[0] < lines - 60]
    assert set(settled) <= whole


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=60), data=st.data())
@settings(max_examples=300, deadline=None)
def test_any_chunking_gives_the_same_events(pieces: list[bytes], data: st.DataObject) -> None:
    log = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=8)))
    chunks = [log[a:b] for a, b in zip([0, *cuts], [*cuts, len(log)], strict=True)]
    assert repr(events(*chunks)) == repr(events(log))


@pytest.mark.parametrize(
    "piece",
    [
        *PIECES,
        b"RuntimeError timeout ",
        b"gloo/x] Connect ",
        b"error: Of Memory ",
        b"Step Time : ",
        b"iteration 1/ 2 |",
        b"FAILED a.py::",
        b"checkpoint from x in ",
        b"saving checkpoint at iteration 5 to ",
        b"[rank1]:",
        b"iteration ",
        b"\x1b]",
        b"\x1b[0;",
        b"1: passed in ",
        b'  File "',
        b"1",
        b"a.",
        b"=== 1 passed, ",
    ],
)
@pytest.mark.parametrize(
    "begin", [b"", b"Traceback (most recent call last):\n", b"saving checkpoint at iteration 5 to "]
)
def test_a_long_line_of_anything_is_read_in_linear_time(piece: bytes, begin: bytes) -> None:
    line = piece.replace(b"\n", b" ")
    events(begin + line * (300_000 // len(line)))


@given(st.binary(max_size=2000))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read(log: bytes) -> None:
    events(log)
