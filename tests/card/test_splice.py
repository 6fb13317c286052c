from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mbridge_skills.card.problems import DataPath
from mbridge_skills.card.reader import parse_document
from mbridge_skills.card.splice import Splicer, render
from mbridge_skills.errors import InputError

ITEM = {"id": "n", "list": [1, 2]}


def _splicer(text: str) -> Splicer:
    document = parse_document(text, Path("card.yaml"))
    assert document.problems == []
    return Splicer(document)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a:\n  - x\n", "a:\n  - x\n  - id: n\n    list: [1, 2]\n"),
        ("a:\n- x\n", "a:\n- x\n- id: n\n  list: [1, 2]\n"),
        (
            "a:\n      - x: 1\n        y: 2\n",
            "a:\n      - x: 1\n        y: 2\n      - id: n\n        list: [1, 2]\n",
        ),
        ("a:\n  - x  # why\n\n# end\n", "a:\n  - x  # why\n  - id: n\n    list: [1, 2]\n\n# end\n"),
        ("a:\n  - x\nb: 1\n", "a:\n  - x\n  - id: n\n    list: [1, 2]\nb: 1\n"),
        ("a:\n  - x", "a:\n  - x\n  - id: n\n    list: [1, 2]\n"),
        ("a:\r\n  - x\r\nb: 1\r\n", "a:\r\n  - x\r\n  - id: n\r\n    list: [1, 2]\r\nb: 1\r\n"),
        ("a: []\nb: 1\n", "a:\n  - id: n\n    list: [1, 2]\nb: 1\n"),
        ("a: []  # none\n", "a:  # none\n  - id: n\n    list: [1, 2]\n"),
        (
            "a:\n  - |\n    t\n    # t\n\nb: 1\n",
            "a:\n  - |\n    t\n    # t\n  - id: n\n    list: [1, 2]\n\nb: 1\n",
        ),
        (
            "a:\n  - {x: 1,\n     y: 2}\nb: 1\n",
            "a:\n  - {x: 1,\n     y: 2}\n  - id: n\n    list: [1, 2]\nb: 1\n",
        ),
    ],
)
def test_add_item(before: str, after: str) -> None:
    splicer = _splicer(before)
    splicer.add_item(("a",), ITEM)
    assert splicer.text() == after


@pytest.mark.parametrize(
    ("before", "index", "after"),
    [
        ("a:\n  - x  # gone\n  - y\n", 0, "a:\n  - id: n\n    list: [1, 2]\n  - y\n"),
        ("a:\n- x\n# t\n- y: 1\n  z: 2\n# t\n", 1, "a:\n- x\n# t\n- id: n\n  list: [1, 2]\n# t\n"),
        ("a:\n  -\n    x: 1\nb: 1\n", 0, "a:\n  - id: n\n    list: [1, 2]\nb: 1\n"),
        ("a:\n- {x: 1}\n", 0, "a:\n- id: n\n  list: [1, 2]\n"),
    ],
)  # fmt: skip
def test_replace_item(before: str, index: int, after: str) -> None:
    splicer = _splicer(before)
    splicer.replace_item(("a", index), ITEM)
    assert splicer.text() == after


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        ("a: 1  # why\nb: 2\n", ("a",), "2026-11-30", "a: 2026-11-30  # why\nb: 2\n"),
        ("a:\nb: 2\n", ("a",), "text", "a: text\nb: 2\n"),
        ("a: {x: 1} # why\n", ("a",), {"y": [1]}, "a: {y: [1]} # why\n"),
        ("a:\n  x: 1\n  z: 2 # gone\nb: 1\n", ("a",), {"y": ["2.10"]}, "a:\n  y: ['2.10'] # gone\nb: 1\n"),
        ("a: 1\n", ("b",), {"x": {"y": [1]}}, "a: 1\nb:\n  x: {y: [1]}\n"),
        ("a:\n  - {k: null, l: 1}\n", ("a", 0, "k"), {"x": 1}, "a:\n  - {k: {x: 1}, l: 1}\n"),
        ("a:\n  - k:\n      x: 2\n    l: 1\n", ("a", 0, "k"), {"x": 1}, "a:\n  - k:\n      x: 1\n    l: 1\n"),
    ],
)
def test_set_key(before: str, path: DataPath, value: object, after: str) -> None:
    splicer = _splicer(before)
    splicer.set_key(path, value)
    assert splicer.text() == after


def test_edits_at_one_place_keep_their_order() -> None:
    splicer = _splicer("a:\n  - x")
    splicer.add_item(("a",), {"id": 1})
    splicer.set_key(("b",), 2)
    splicer.set_key(("c",), 3)
    assert splicer.text() == "a:\n  - x\n  - id: 1\nb: 2\nc: 3\n"


@pytest.mark.parametrize("text", ["{a: [x]}\n", "  a: 1\n"])
def test_top_level_must_be_block_style(text: str) -> None:
    with pytest.raises(InputError, match="block style"):
        _splicer(text)


def test_list_in_flow_style_cannot_be_added_to() -> None:
    with pytest.raises(InputError, match=r"card.yaml:1:1: a can only be added to as a block list"):
        _splicer("a: [x]\n").add_item(("a",), ITEM)
    with pytest.raises(InputError, match="block list"):
        _splicer("a: [x]\n").replace_item(("a", 0), ITEM)


_TEXTS = st.text("ab #:'\"-|>é\n", max_size=12)
_VALUES = st.recursive(
    _TEXTS | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=50)
@given(st.lists(_VALUES), _VALUES, _TEXTS, st.booleans())
def test_an_edit_changes_what_it_should_and_nothing_else(
    items: list[Any], other: Any, new: str, windows: bool
) -> None:
    data = {"first": other, "list": items, "last": other}
    text = render(data, flow_from=3)
    document = parse_document(text.replace("\n", "\r\n") if windows else text, Path("card.yaml"))
    splicer = Splicer(document)
    splicer.add_item(("list",), {"new": new})
    splicer.set_key(("added",), new)
    after = parse_document(splicer.text(), Path("card.yaml"))
    assert after.problems == []
    assert after.data == document.data | {"list": [*document.data["list"], {"new": new}], "added": new}
