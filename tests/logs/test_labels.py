from __future__ import annotations

import pytest

from mbridge_skills.logs.labels import Labels


def labelled(lines: list[str]) -> list[tuple[int | None, str]]:
    labels = Labels()
    found = [item for number, text in enumerate(lines, 1) for item in labels.feed((number, True, text))]
    return [(label, text) for _, _, label, text in [*found, *labels.close()]]


def test_takes_labels_off_a_labelled_log() -> None:
    lines = [f"{rank}: line {number}" for number in range(5) for rank in (0, 1, 3, 2)]
    assert labelled(lines) == [(rank, f"line {number}") for number in range(5) for rank in (0, 1, 3, 2)]


def test_takes_labels_off_after_an_unlabelled_beginning() -> None:
    found = labelled(["loading modules", "", *["0: a", "1: a"] * 4, "0: b"])
    assert found == [(None, "loading modules"), (None, ""), *[(0, "a"), (1, "a")] * 4, (0, "b")]


def test_a_short_log_counts_where_every_line_agrees() -> None:
    assert labelled(["1: Traceback", "0: Traceback", "1: ValueError: x"]) == [
        (1, "Traceback"),
        (0, "Traceback"),
        (1, "ValueError: x"),
    ]


def test_an_empty_line_has_a_label_too() -> None:
    assert labelled(["10: a", "11: ", "10:", "11: b"]) == [(10, "a"), (11, ""), (10, ""), (11, "b")]


def test_an_unlabelled_line_in_a_labelled_log_stays_whole() -> None:
    found = labelled([*["0: a", "1: a"] * 4, "slurmstepd: error: x", "0: b"])
    assert found[-2:] == [(None, "slurmstepd: error: x"), (0, "b")]


def test_labels_end() -> None:
    found = labelled([*["0: a", "1: a"] * 4, *["plain"] * 8, "3: not a label", "plain"])
    assert found[-2:] == [(None, "3: not a label"), (None, "plain")]


@pytest.mark.parametrize(
    "lines",
    [
        ["plain", "3: not a label", "plain"],
        [f"{number}: item" for number in range(1, 40)],  # a numbered list
        ["3: alone", *["plain"] * 20],
        ["0: a", "1: b", "0: c", "plain", "1: d", "plain"],
        ["1: a", "10: b", "1: c", "10: d"] * 5,  # srun pads its labels to one width
        ["12:30:01 a", "12:30:02 b", "12:30:01 c"] * 5,
        ["3:4", "1:2", "3:4"] * 5,
        ["1234567: a", "1234567: b"] * 5,
        ["", "", ""],
    ],
)
def test_leaves_it_alone(lines: list[str]) -> None:
    assert labelled(lines) == [(None, line) for line in lines]


def test_the_rest_of_a_split_line_has_its_label() -> None:
    labels = Labels()
    pieces = [(1, True, "0: 10%"), (1, False, "20%"), (2, True, "1: a"), (3, True, "0: b")]
    found = [item for piece in pieces for item in labels.feed(piece)]
    assert [*found, *labels.close()] == [
        (1, True, 0, "10%"),
        (1, False, 0, "20%"),
        (2, True, 1, "a"),
        (3, True, 0, "b"),
    ]


def test_holds_back_a_bounded_number_of_lines() -> None:
    labels = Labels()
    for number in range(1, 1000):
        list(labels.feed((number, True, f"{number:06}: item")))
        assert len(labels._held) <= 64
