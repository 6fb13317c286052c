from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbridge_skills.logs.lines import LineSplitter


def pieces(*chunks: bytes, limit: int = 1 << 20) -> list[tuple[int, bool, str]]:
    splitter = LineSplitter(limit)
    found = [piece for chunk in chunks for piece in splitter.feed(chunk)]
    return [*found, *splitter.close()]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a", [(1, True, "a")]),
        (b"a\nb\n", [(1, True, "a"), (2, True, "b")]),
        (b"\n\na", [(1, True, ""), (2, True, ""), (3, True, "a")]),
        (b"a\r\nb\r\n", [(1, True, "a"), (2, True, "b")]),
        (b"a\r\n\r\nb", [(1, True, "a"), (2, True, ""), (3, True, "b")]),
        (
            b"10%\r20%\rdone\nnext\n",
            [(1, True, "10%"), (1, False, "20%"), (1, False, "done"), (2, True, "next")],
        ),
        (b"\r50%\r\r\n", [(1, True, "50%")]),
        (b"\x1b[1m\x1b[31mred\x1b[0m\n", [(1, True, "red")]),
        (b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\n", [(1, True, "textlink")]),
        (b"\x1b[\nm\n", [(1, True, "\x1b["), (2, True, "m")]),
        (b"\0\0\0a\0b\n", [(1, True, "ab")]),
        (b"\xff\xfe\xe2\x82\n\xac", [(1, True, "���"), (2, True, "�")]),
        ("naïve — ü\n".encode(), [(1, True, "naïve — ü")]),
    ],
)
def test_splits(data: bytes, expected: list[tuple[int, bool, str]]) -> None:
    assert pieces(data) == expected


def test_a_line_is_given_as_soon_as_it_is_complete() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"one") == []
    assert splitter.feed(b"\ntw") == [(1, True, "one")]
    assert splitter.feed(b"o\r") == [(2, True, "two")]


def test_cuts_a_line_without_end() -> None:
    assert pieces(b"abcdefgh\nxy", limit=3) == [
        (1, True, "abc"),
        (1, False, "def"),
        (1, False, "gh"),
        (2, True, "xy"),
    ]


def test_keeps_the_buffer_bounded() -> None:
    splitter = LineSplitter(limit=1000)
    for _ in range(1000):
        splitter.feed(b"x" * 777)
        assert len(splitter._tail) <= 1000


@given(
    data=st.lists(st.sampled_from([b"a", b"\xe2\x82\xac", b"\r", b"\n", b"\x1b[0m", b"\0", b"\xff"])),
    cuts=st.data(),
)
def test_does_not_depend_on_the_chunking(data: list[bytes], cuts: st.DataObject) -> None:
    whole = b"".join(data)
    at = sorted(cuts.draw(st.lists(st.integers(0, len(whole)), max_size=10)))
    chunks = [whole[a:b] for a, b in zip([0, *at], [*at, len(whole)], strict=True)]
    assert pieces(*chunks, limit=5) == pieces(whole, limit=5)
