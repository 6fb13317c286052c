from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbridge_skills.triage.literals import required_literals


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("only supports this", ("only supports this",)),
        ("world_size \\(\\d+\\) is not divisible", (") is not divisible",)),
        ("in_collective (is )?not supported", ("in_collective ",)),
        ("settings? were not", (" were not",)),
        ("settings* in sync", (" in sync",)),
        ("sync+hronous", ("hronous",)),
        ("abcdefg{2}hij", ("abcdef",)),
        ("[abc]defghi[]x]jk", ("defghi",)),
        ("first text|second text", ("first text", "second text")),
        ("first text|ab", ()),
        ("(first text|second text)", ()),
        ("short", ()),
        ("(?i)only supports this", ()),
        ("only\\x20supports this", ()),
        ("^Meta device .* is not$", ("Meta device ",)),
        ("", ()),
    ],
)
def test_literals(pattern: str, literals: tuple[str, ...]) -> None:
    assert required_literals(pattern) == literals


@given(st.text(alphabet="abcdefgh .*+?()[]{}|\\^$d1,", max_size=25), st.data())
def test_a_match_holds_a_literal(pattern: str, data: st.DataObject) -> None:
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, FutureWarning):
        return
    literals = required_literals(pattern)
    if literals:
        text = data.draw(st.from_regex(compiled))
        assert any(literal in text for literal in literals)
