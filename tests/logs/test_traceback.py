from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.logs.events import Frame, Traceback

Parse = Callable[..., list[Any]]

HEADER = "Traceback (most recent call last):"
FRAMES = """\
  File "/x/train.py", line 10, in <module>
    main()
  File "/x/train.py", line 7, in main
    model = build(config,
            ^^^^^^^^^^^^^"""
DURING = "\nDuring handling of the above exception, another exception occurred:\n"
CAUSE = "\nThe above exception was the direct cause of the following exception:\n"


def prefixed(prefix: str, text: str) -> str:
    return "\n".join(prefix + line for line in text.split("\n"))


def only(tracebacks: list[Traceback]) -> Traceback:
    (traceback,) = tracebacks
    return traceback


@pytest.mark.parametrize("after", ["", "\n", "\nnext line", "\n\nnext line", "\nINFO: next: line"])
def test_a_traceback(parse: Parse, after: str) -> None:
    assert only(parse(f"before\n{HEADER}\n{FRAMES}\nx.errors.BuildError: no: model{after}")) == Traceback(
        line=2,
        rank=None,
        exception="BuildError",
        message="no: model",
        frames=(Frame("/x/train.py", 10, "<module>"), Frame("/x/train.py", 7, "main")),
    )


@pytest.mark.parametrize(
    ("last", "exception", "message"),
    [
        ("SystemExit: 1", "SystemExit", "1"),
        ("SystemExit", "SystemExit", ""),
        ("KeyboardInterrupt", "KeyboardInterrupt", ""),
        ("AssertionError", "AssertionError", ""),
        ("KeyError: 'x'", "KeyError", "'x'"),
        ("einops.EinopsError:  Error while", "EinopsError", "Error while"),
        (
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process 1 got signal: 15",
            "SignalException",
            "Process 1 got signal: 15",
        ),
        ("a.b.Weird: x", "Weird", "x"),
        ("a.b.Weird", "Weird", ""),
        ("Weird: x", "Weird", "x"),
        ("a.f.<locals>.LocalError: x", "LocalError", "x"),
        (
            "subprocess.CalledProcessError: Command '['make']' returned 2",
            "CalledProcessError",
            "Command '['make']' returned 2",
        ),
        ("ValueError: ", "ValueError", ""),
        (
            "OSError: [Errno 28] No space left on device: '/x'",
            "OSError",
            "[Errno 28] No space left on device: '/x'",
        ),
    ],
)
def test_the_exception(parse: Parse, last: str, exception: str, message: str) -> None:
    traceback = only(parse(f"{HEADER}\n{FRAMES}\n{last}\n"))
    assert (traceback.exception, traceback.message) == (exception, message)


@pytest.mark.parametrize(
    "more",
    [
        [" Input tensor shape: torch.Size([2])", " Shape mismatch, 2 != 1"],
        ["\tindented by a tab"],
        [
            "CUDA kernel errors might be asynchronously reported at some other API call.",
            "For debugging consider x",
        ],
        [
            "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
            "Last error:",
            "Duplicate GPU detected",
        ],
    ],
)
def test_a_message_of_several_lines(parse: Parse, more: list[str]) -> None:
    traceback = only(
        parse(
            "\n".join([HEADER, FRAMES, "RuntimeError: first", *more, "other output", "  indented"]), Traceback
        )
    )
    assert traceback.message.split("\n") == ["first", *more]


def test_a_message_of_several_lines_behind_a_rank(parse: Parse) -> None:
    text = prefixed("[rank2]: ", f"{HEADER}\n{FRAMES}\nRuntimeError: first\nat the margin\n  and not")
    traceback = only(parse(text + "\n[rank2]:[W1130 19:44 ProcessGroupNCCL.cpp:1575] Warning\n", Traceback))
    assert (traceback.rank, traceback.message) == (2, "first\nat the margin\n  and not")


@pytest.mark.parametrize("link", [DURING, CAUSE])
def test_the_last_of_a_chain_is_the_event(parse: Parse, link: str) -> None:
    second = f'{HEADER}\n  File "b.py", line 3, in g\n    g()\nValueError: y\n'
    traceback = only(parse(f"{HEADER}\n{FRAMES}\nKeyError: 'x'\n{link}\n{second}"))
    assert (traceback.line, traceback.exception, traceback.message) == (1, "ValueError", "y")
    assert traceback.frames == (Frame("b.py", 3, "g"),)


def test_two_tracebacks_are_no_chain(parse: Parse) -> None:
    text = f"{HEADER}\n{FRAMES}\nKeyError: 'x'\n{HEADER}\n{FRAMES}\nValueError: y\n"
    assert [traceback.exception for traceback in parse(text)] == ["KeyError", "ValueError"]


@pytest.mark.parametrize("prefix", ["[rank{}]: ", "[default{}]:"])
def test_interleaved_ranks(parse: Parse, prefix: str) -> None:
    texts = [
        f"{HEADER}\n{FRAMES}\nValueError: of {rank}\n{DURING}\n{HEADER}\n{FRAMES}\nSystemExit: {rank}"
        for rank in (0, 1)
    ]
    lines = [
        prefix.format(rank) + line
        for pair in zip(*(text.split("\n") for text in texts), strict=True)
        for rank, line in enumerate(pair)
    ]
    tracebacks = parse("\n".join(lines))
    assert [(traceback.rank, traceback.exception, traceback.message) for traceback in tracebacks] == [
        (0, "SystemExit", "0"),
        (1, "SystemExit", "1"),
    ]


def test_lines_of_others_inside(parse: Parse) -> None:
    head, tail = FRAMES.split("\n")[:2], FRAMES.split("\n")[2:]
    others = [
        "INFO:megatron.core:setting up",
        "WARNING: something",
        "[2026-11-30 19:45:37] hello",
        "",
        "done",
    ]
    traceback = only(parse("\n".join([HEADER, *head, *others, *tail, "ValueError: x"])))
    assert (traceback.exception, len(traceback.frames)) == ("ValueError", 2)


def test_bridge_names_the_rank(parse: Parse) -> None:
    bridge = "ERROR:megatron.bridge.training.pretrain:Pretrain failed on rank={} with ValueError: x."
    log = [
        bridge.format(3),
        HEADER,
        FRAMES,
        "ValueError: x",
        bridge.format(1),
        HEADER,
        FRAMES,
        "ValueError: x",
        HEADER,
        FRAMES,
        "ValueError: x",
    ]
    assert [traceback.rank for traceback in parse("\n".join(log))] == [3, 1, None]


def test_bridge_knows_the_rank_better_than_a_local_prefix(parse: Parse) -> None:
    log = f"ERROR:x:Pretrain failed on rank=9 with ValueError: x.\n{HEADER}\n{FRAMES}\nValueError: x"
    lines = (
        prefixed("[default1]:", log) + "\n" + prefixed("[default0]:", f"{HEADER}\n{FRAMES}\nValueError: x")
    )
    assert [traceback.rank for traceback in parse(lines)] == [9, 0]


@pytest.mark.parametrize("between", ["\n".join(["x"] * 200), "INFO: y"])
def test_a_name_of_another_exception_or_far_away_does_not_count(parse: Parse, between: str) -> None:
    exception = "ValueError" if len(between) > 100 else "TypeError"
    log = f"Pretrain failed on rank=3 with {exception}: x\n{between}\n{HEADER}\n{FRAMES}\nValueError: x"
    assert only(parse(log)).rank is None


def test_torchrun_is_the_launcher(parse: Parse) -> None:
    last = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\nx FAILED\n"
    assert only(parse(f"{HEADER}\n{FRAMES}\n{last}")).launcher


@pytest.mark.parametrize("cut", [HEADER, f"{HEADER}\n{FRAMES}", f'{HEADER}\n  File "/x/tr'])
def test_cut_off(parse: Parse, cut: str) -> None:
    traceback = only(parse(cut))
    assert (traceback.exception, traceback.message) == ("", "")
    assert len(traceback.frames) == cut.count(", in ")


def test_is_given_while_other_ranks_go_on(parse: Parse) -> None:
    log = [prefixed("[rank3]: ", f"{HEADER}\n{FRAMES}\nValueError: x"), *["[rank0]: still training"] * 300]
    log += ["[after training is done] datetime: x"]
    assert [type(event).__name__ for event in parse("\n".join(log))] == ["Traceback", "TrainingDone"]


def test_behind_other_output_and_indented(parse: Parse) -> None:
    assert only(parse(f"PASSED{HEADER}\n{FRAMES}\nValueError: x")).exception == "ValueError"
    indented = prefixed("    ", f"{HEADER}\n{FRAMES}\nValueError: x")
    assert only(parse(indented + "\n")).exception == "ValueError"


def test_is_bounded(parse: Parse) -> None:
    frame = '  File "x.py", line 1, in f\n    f()\n'
    traceback = only(parse(f"{HEADER}\n{frame * 5000}RecursionError: {'x' * 50_000}\n" + " more\n" * 5000))
    assert traceback.exception == "RecursionError"
    assert len(traceback.frames) == 50
    assert len(traceback.message) <= 2000


@pytest.mark.parametrize(
    "text",
    [
        "Traceback",
        "a Traceback (most recent calls) is printed",
        "ValueError: not after a traceback",
        "SystemExit: 1",
        "E   SystemExit: 1",
        '  File "/x/train.py", line 10, in <module>',
        '  traceback : Traceback (most recent call last):\n    File "x.py", line 1, in f\n  ValueError: x',
        "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
        "Pretrain failed on rank=0 with ValueError: x",
        DURING,
    ],
)
def test_leaves_it_alone(parse: Parse, text: str) -> None:
    assert parse(text + "\n", Traceback) == []
