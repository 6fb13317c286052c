from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from mbridge_skills.errors import InputError
from mbridge_skills.gotchas.gotcha import Gotcha
from mbridge_skills.gotchas.load import load_files, load_gotchas
from mbridge_skills.triage.file import triage_chunks, triage_file
from mbridge_skills.triage.literals import required_literals
from mbridge_skills.triage.result import Place, Triage
from mbridge_skills.triage.watch import LineWatch

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "fixtures" / "logs"
REAL = "bridge-0.6.2-core-0.19.2-2xH200."
GOTCHAS = load_gotchas(ROOT / "skills" / "nemo-mbridge-perf-megatron-fsdp")
PATTERNS = [
    pytest.param(gotcha, pattern, id=f"{gotcha.code}-{number}")
    for gotcha in GOTCHAS
    for number, pattern in enumerate(gotcha.log)
]
STEPS = " iteration       1/      20 | consumed samples:            8 | lm loss: 1.0E+01 |\n"


def read(text: str, gotchas: tuple[Gotcha, ...] = GOTCHAS) -> Triage:
    return triage_chunks([text.encode()], gotchas)


def traceback(exception: str, message: str, source: str = "raise error", rank: int | None = None) -> str:
    lines = [
        "Traceback (most recent call last):",
        '  File "/opt/train.py", line 7, in main',
        f"    {source}",
        f"{exception}: {message}" if message else exception,
    ]
    prefix = "" if rank is None else f"[rank{rank}]: "
    return "".join(f"{prefix}{line}\n" for line in lines)


def example(pattern: str) -> str:
    """A text that a pattern of the gotchas matches."""
    text = re.sub(r"\(([^()\\|]*)\|[^()]*\)", r"\1", pattern)
    text = re.sub(r"(?<!\\)\(([^()\\]*)(?<!\\)\)\?", r"\1", text)
    text = text.replace("\\d+", "3").replace(".*", "something")
    text = re.sub(r"\\(.)", r"\1", text)
    assert re.search(pattern, text), text
    return text


@pytest.mark.parametrize(
    ("name", "code", "line", "said"),
    [
        ("mfsdp-pp2.failed", "MB330", 385, "EinopsError"),
        ("fsdp2-distributed-optimizer.failed", "MB612", 324, "TypeError: 'method' object is not iterable"),
    ],
)
def test_real_failures(name: str, code: str, line: int, said: str) -> None:
    found = triage_file(LOGS / f"{REAL}{name}.log", GOTCHAS)
    assert found.status == "explained"
    best = found.candidates[0]
    assert (best.gotcha.code, best.place, best.evidence.number) == (code, Place.FIRST_FAILURE, line)
    assert said in best.evidence.text
    lines = (LOGS / f"{REAL}{name}.log").read_text().splitlines()
    assert best.evidence.text.strip() in lines[line - 1]
    assert found.failure is not None
    assert found.failure.rank == 0


def test_a_real_failure_that_tells_little() -> None:
    found = triage_file(LOGS / f"{REAL}dataset-helpers-makefile.failed.log", GOTCHAS)
    failure = found.failure
    assert failure is not None
    assert (failure.line, failure.rank, failure.text) == (289, 0, "SystemExit: 1")
    assert [(line.number, line.text) for line in failure.before] == [
        (285, "make: *** No targets specified and no makefile found.  Stop."),
        (
            287,
            "ERROR:megatron.core.datasets.utils:Failed to compile the C++ dataset helper functions",
        ),
    ]
    explained = any("dataset helper" in pattern for gotcha in GOTCHAS for pattern in gotcha.log)
    assert found.status == ("explained" if explained else "unknown")


def test_a_gotcha_recognised_by_the_error_line_before(tmp_path: Path) -> None:
    gotcha = written(tmp_path, log="Failed to compile the C\\\\+\\\\+ dataset helper functions")
    found = triage_file(LOGS / f"{REAL}dataset-helpers-makefile.failed.log", (gotcha,))
    assert found.status == "explained"
    assert found.candidates[0].evidence.number in (
        287,
        355,
    )  # as it was logged, or in the report of the failure


@pytest.mark.parametrize(
    ("name", "ended"),
    [
        (f"{REAL}test_fsdp_pretrain_basic.passed.log", True),
        (f"{REAL}ddp-distopt.ok.log", True),
        ("made-smoke.passed.log", True),
        ("made-megatron-lm-undated.cut.log", False),
    ],
)
def test_no_failure(name: str, ended: bool) -> None:
    found = triage_file(LOGS / name, GOTCHAS)
    assert (found.status, found.failure, found.candidates, found.ended) == ("no failure", None, (), ended)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("made-megatron-lm-tee-moe.out-of-memory.log", "OutOfMemoryError: CUDA out of memory."),
        ("made-srun-labels.oom-kill.log", "out-of-memory: slurmstepd: error: Detected 1 oom_kill"),
    ],
)
def test_unknown_failures(name: str, cause: str) -> None:
    found = triage_file(LOGS / name, GOTCHAS)
    assert (found.status, found.candidates) == ("unknown", ())
    assert found.failure is not None
    assert found.failure.text.startswith(cause)


def failing_with(gotcha: Gotcha, pattern: str, text: str) -> str:
    exception = gotcha.raises[0].exception if gotcha.raises else "RuntimeError"
    if pattern.startswith("assert "):
        return traceback("AssertionError", "", source=text)
    return traceback(exception, text.removeprefix(f"{exception}: "))


@pytest.mark.parametrize(("gotcha", "pattern"), PATTERNS)
def test_every_pattern_explains_a_failure(gotcha: Gotcha, pattern: str) -> None:
    found = read(STEPS + failing_with(gotcha, pattern, example(pattern)))
    best = found.candidates[0]
    assert found.status == "explained"
    assert gotcha.code in {one.gotcha.code for one in found.candidates if one.place == best.place}
    # Another one comes first only where it says at least as much about the same line.
    own = next(one for one in found.candidates if one.gotcha is gotcha)
    assert own is best or best.evidence == own.evidence
    assert own.evidence.number == (4 if pattern.startswith("assert ") else 5)


@pytest.mark.parametrize(("gotcha", "pattern"), PATTERNS)
def test_every_pattern_has_a_near_miss(gotcha: Gotcha, pattern: str) -> None:
    text = example(pattern)
    (literal,) = required_literals(pattern)
    middle = text.index(literal) + len(literal) // 2
    found = read(STEPS + failing_with(gotcha, pattern, f"{text[:middle]}#{text[middle:]}"))
    assert gotcha.code not in {one.gotcha.code for one in found.candidates}
    assert found.failure is not None


def test_the_longer_match_comes_first() -> None:
    text = "MFSDP V2 does not currently support gradient clipping"
    found = read(traceback("NotImplementedError", text))
    assert [one.gotcha.code for one in found.candidates][:2] == ["MB704", "MB703"]


def test_the_first_failure_beats_lines_and_other_ranks() -> None:
    line = "WARNING: Invalid data_parallel_sharding_strategy\n"
    error = "ERROR:x:NCCL_ALGO must be one of\n"
    peer = traceback(
        "AssertionError", "Only one of self.fp16: True and self.bf16 True should be True", rank=1
    )
    first = traceback(
        "AssertionError", "Megatron-FSDP requires the fsdp_dtensor checkpointing format!", rank=0
    )
    found = read(line + error + first + peer)
    assert [(one.gotcha.code, one.place.name) for one in found.candidates] == [
        ("MB101", "FIRST_FAILURE"),
        ("MB401", "OTHER_FAILURE"),
        ("MB503", "ERROR_LINE"),
        ("MB232", "LINE"),
    ]
    assert found.failure is not None
    assert (found.failure.line, found.failure.rank) == (3, 0)


def test_a_mere_line_explains_nothing() -> None:
    found = read("Invalid data_parallel_sharding_strategy\n" + traceback("ValueError", "something else"))
    assert found.status == "unknown"
    assert [(one.gotcha.code, one.place) for one in found.candidates] == [("MB232", Place.LINE)]
    assert found.failure is not None
    assert found.failure.text == "ValueError: something else"


def test_a_silent_change_is_noticed_only() -> None:
    line = "average_in_collective not supported with Megatron FSDP\n"
    found = read(line + traceback("ValueError", "something else"))
    assert (found.status, found.candidates) == ("unknown", ())
    assert [(one.gotcha.code, one.evidence.number) for one in found.noticed] == [("MB220", 1)]


def test_the_exception_line_alone_is_enough() -> None:
    found = read("AssertionError: FSDP requires CUDA_DEVICE_MAX_CONNECTIONS > 1 or unset.\n")
    assert found.status == "explained"
    assert [one.gotcha.code for one in found.candidates] == ["MB501"]
    assert found.failure is not None
    assert found.failure.line == 1


def test_a_failure_that_the_run_survived() -> None:
    log = traceback("AssertionError", "Megatron-FSDP requires the fsdp_dtensor checkpointing format!")
    session = "===== test session starts =====\n"
    assert read(session + log + "===== 1 passed in 3.10s =====\n").status == "no failure"
    assert read(session + log + "===== 1 failed in 3.10s =====\n").status == "explained"


def test_pytest_reason_without_traceback() -> None:
    reason = "AssertionError: Megatron-FSDP requires the fsdp_dtensor checkpointing format!"
    summary = f"FAILED tests/test_a.py::test_b - {reason}\n===== 1 failed in 3.10s =====\n"
    found = read(f"===== test session starts =====\n{summary}")
    assert found.status == "explained"
    assert (found.candidates[0].gotcha.code, found.candidates[0].evidence.number) == ("MB101", 2)


def test_another_exception_ranks_lower() -> None:
    text = "Invalid cuda graph implementation NCCL_ALGO must be one of"
    found = read(traceback("AssertionError", text))
    names = {gotcha.code: {one.exception for one in gotcha.raises} for gotcha in GOTCHAS}
    fits = ["AssertionError" in names[one.gotcha.code] for one in found.candidates]
    assert fits == sorted(fits, reverse=True)


def test_chunks_gzip_and_an_empty_log(tmp_path: Path) -> None:
    data = (LOGS / f"{REAL}mfsdp-pp2.failed.log").read_bytes()
    whole = triage_chunks([data], GOTCHAS)
    assert triage_chunks([data[at : at + 7] for at in range(0, len(data), 7)], GOTCHAS) == whole
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(data))
    assert triage_file(packed, GOTCHAS) == whole
    assert triage_chunks([], GOTCHAS).status == "no failure"


def test_memory_is_bounded() -> None:
    watch = LineWatch(GOTCHAS)
    for number in range(1, 5001):
        watch.line(number, 0, "ERROR: NCCL_ALGO must be one of " + "x" * 5000)
        watch.line(number, 0, "Traceback (most recent call last):")
    hits = list(watch.hits())
    assert len(hits) == 64
    assert (hits[0].line.number, hits[-1].line.number) == (1, 5000)
    assert max(len(hit.line.text) for hit in hits) <= 500
    assert len(watch.before(100)) == 3
    assert watch.before(101) == ()


def test_every_shipped_pattern_has_a_literal() -> None:
    missing = [
        (gotcha.code, pattern)
        for gotcha in GOTCHAS
        for pattern in gotcha.log
        if len(required_literals(pattern)) != 1
    ]
    assert missing == []


def test_a_match_far_inside_a_long_line() -> None:
    text = "x" * 100_000 + " AssertionError: NCCL_ALGO must be one of " + "y" * 100_000
    (candidate,) = read(text + "\n").candidates
    assert candidate.gotcha.code == "MB503"
    assert "NCCL_ALGO must be one of" in candidate.evidence.text


def written(folder: Path, log: str) -> Gotcha:
    path = folder / "MB599-made-up.md"
    path.write_text(
        "---\ncode: MB599\ntitle: Made up\nseverity: error\nconfidence: proved\nwhen: ddp.use_megatron_fsdp\n"
        f'effect:\n  phase: wrap\nlog:\n  - "{log}"\nsources: [somewhere]\n---\n\nWhat happens.\n'
    )
    return load_files([path])[0]


def test_a_broken_pattern(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a regular expression"):
        read("x\n", (written(tmp_path, "a(b"),))


def test_a_pattern_without_a_literal_is_tried_on_failures_only(tmp_path: Path) -> None:
    gotcha = written(tmp_path, "(boom|bang)")
    assert read("ERROR: boom\n", (gotcha,)).status == "no failure"
    assert read(traceback("ValueError", "a bang"), (gotcha,)).status == "explained"
