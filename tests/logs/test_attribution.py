from __future__ import annotations

import pytest

from mbridge_skills.logs.attribution import UNKNOWN, Attribution


@pytest.mark.parametrize(
    ("text", "label", "rank", "rest"),
    [
        ("[default3]:training", None, 3, "training"),
        ("[default3]: [date] iteration", None, 3, "[date] iteration"),
        ("[rank12]: Traceback (most recent call last):", None, 12, "Traceback (most recent call last):"),
        ('[rank0]:   File "x.py", line 1, in f', None, 0, '  File "x.py", line 1, in f'),
        (
            "[rank1]:[W1130 19:56 ProcessGroupNCCL.cpp:1575] Warning",
            None,
            1,
            "[W1130 19:56 ProcessGroupNCCL.cpp:1575] Warning",
        ),
        ("[Rank 5] (after 2 iterations) memory (GB) |", None, 5, "(after 2 iterations) memory (GB) |"),
        ("[default1]:[rank9]: ValueError: x", None, 9, "ValueError: x"),  # the innermost is the global one
        ("training", 4, 4, "training"),
        ("[rank7]: x", 1, 7, "x"),
        ("[default3]:x", 1, None, "x"),  # a local rank on some node
    ],
)
def test_takes_the_prefix_off(text: str, label: int | None, rank: int | None, rest: str) -> None:
    source, left = Attribution().split(text, label)
    assert (source.rank, left) == (rank, rest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3: not a label that srun gave",
        "training on [rank3]: not at the beginning",
        "[2026-11-30 19:45:37] iteration 1/ 2 |",
        "[FSDP_UNIT 0] Group 1",
        "[rank]: x",
        "[rank 3] x",
        "[rank3] x",
        "[default]: x",
        "[ranks3]: x",
        "[Ranks 3] x",
        "[after training is done] datetime: x",
        "[[rank3]: x",
    ],
)
def test_leaves_it_alone(text: str) -> None:
    assert Attribution().split(text) == (UNKNOWN, text)


def test_nodes_with_the_same_local_rank_are_different_streams() -> None:
    attribution = Attribution()
    sources = {attribution.split("[default0]:x", label)[0].stream for label in (None, 0, 1)}
    assert len(sources) == 3


def test_remembers_a_bounded_number_of_sources() -> None:
    attribution = Attribution()
    for rank in range(10_000):
        assert attribution.split(f"[rank{rank}]: x")[0].rank == rank
    assert len(attribution._sources) <= 4096
