from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.logs.events import Checkpoint

Parse = Callable[..., list[Any]]
DATE = "[2026-11-30 19:45:37.123456] "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "saving checkpoint at iteration       5 to /x/y in fsdp_dtensor format",
            ("save", "started", 5, "/x/y", "fsdp_dtensor"),
        ),
        (
            DATE + "saving checkpoint at iteration       5 to /x in torch_dist format",
            ("save", "started", 5, "/x", "torch_dist"),
        ),
        ("saving checkpoint at iteration    5000 to /a path", ("save", "started", 5000, "/a path", None)),
        (
            "  scheduled an async checkpoint save at iteration       5 to /x ",
            ("save", "scheduled", 5, "/x", None),
        ),
        (
            f"  {DATE}scheduled an async checkpoint save at iteration       5 to /x",
            ("save", "scheduled", 5, "/x", None),
        ),
        (
            "  successfully saved checkpoint from iteration       5 to /x [ t 1/2, p 1/1 ]",
            ("save", "finished", 5, "/x", None),
        ),
        (
            f"  {DATE}successfully saved checkpoint from iteration 5 to /x [ t 1/1, gtp_remat 1/1, p 1/1 ]",
            ("save", "finished", 5, "/x", None),
        ),
        ("  successfully saved checkpoint from iteration       5 to /x", ("save", "finished", 5, "/x", None)),
        ("  successfully saved checkpoint at iteration       5 to /x", ("save", "finished", 5, "/x", None)),
        (
            "  successfully saved local checkpoint from iteration       5",
            ("save", "finished", 5, None, "local"),
        ),
        (" loading checkpoint from /x at iteration 5", ("load", "started", 5, "/x", None)),
        (
            " loading distributed checkpoint from /x at iteration 5",
            ("load", "started", 5, "/x", "torch_dist"),
        ),
        (" loading release checkpoint from /x", ("load", "started", None, "/x", None)),
        (" loading release distributed checkpoint from /x", ("load", "started", None, "/x", "torch_dist")),
        (
            " loading fsdp_dtensor checkpoint directly from /x/iter_0000005",
            ("load", "started", None, "/x/iter_0000005", "fsdp_dtensor"),
        ),
        (" loading HuggingFace-format checkpoint from /x", ("load", "started", None, "/x", "hf")),
        (
            "  successfully loaded checkpoint from /x [ t 0/1, p 0/1 ] at iteration 5",
            ("load", "finished", 5, "/x", None),
        ),
        ("  successfully loaded checkpoint from /x at iteration 5", ("load", "finished", 5, "/x", None)),
    ],
)
@pytest.mark.parametrize("rank", [None, 3])
def test_recognises(parse: Parse, text: str, expected: tuple[object, ...], rank: int | None) -> None:
    prefix = "" if rank is None else f"[default{rank}]:"
    (event,) = parse(f"{prefix}{text}\n")
    assert (event.action, event.stage, event.iteration, event.path, event.format) == expected
    assert event.rank == rank


@pytest.mark.parametrize(
    "text",
    [
        "saving checkpoint to /x",
        "saving checkpoint at iteration five to /x",
        "saving dataloader checkpoint at iteration 5 to /x",
        "not saving the checkpoint at iteration 5 to /x",
        "WARNING: Starting a checkpoint save before previous has finished.",
        "  successfully deleted checkpoint from iteration       5 at /x",
        "  successfully saved everything but the checkpoint",
        "Saved async checkpoint\tIteration: 5",
        "Loading checkpoint from iteration 5 (specified via ckpt_step)",
        "Loading checkpoint directly from iteration directory /x",
        "Loading from a non-persistent checkpoint (non-persistent iter 5)",
        "loading checkpoint from disk",
        "error while loading checkpoint from /x at iteration 5",
        "    will not load any checkpoints and will start from random",
        " checkpoint version 3.0",
        "could not find arguments in the checkpoint ...",
        "[checkpoint]:",
        "  ckpt_format: 'fsdp_dtensor'",
        "Checkpoint file not found in load directory /x. Attempting to finetune with checkpoint in /y",
    ],
)
def test_leaves_it_alone(parse: Parse, text: str) -> None:
    assert parse(text + "\n", Checkpoint) == []


def test_a_long_iteration_is_no_trouble(parse: Parse) -> None:
    (event,) = parse(f"saving checkpoint at iteration {'9' * 5000} to /x")
    assert event.iteration == int("9" * 18)
