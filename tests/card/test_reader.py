from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from mbridge_skills.card.reader import parse_document, read_document, split_lines, walk
from mbridge_skills.card.splice import render
from mbridge_skills.errors import InputError

HERE = Path("card.yaml")


def _parse(text: str) -> Any:
    document = parse_document(text, HERE)
    assert document.problems == []
    return document.data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("on", "on"),
        ("yes", "yes"),
        ("", None),
        ("~", None),
        ("null", None),
        ("12", 12),
        ("-3", -3),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("1_000", "1_000"),
        ("1.0e-5", 1e-5),
        ("1e-5", 1e-5),
        (".5", 0.5),
        ("0.16.1", "0.16.1"),
        ("2026-11-30", "2026-11-30"),
        ("12:30:45", "12:30:45"),
        ("~370", "~370"),
        ("'true'", "true"),
        ('"12"', "12"),
        ("=", "="),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    data = _parse(f"key: {text}\n")
    assert data == {"key": value}
    assert type(data["key"]) is type(value)


def test_on_is_a_key() -> None:
    assert _parse("{on: 2026-11-30}") == {"on": "2026-11-30"}


def test_number_too_large_for_a_float_is_a_problem() -> None:
    (problem,) = parse_document("a: 1e999\n", HERE).problems
    assert "expected a finite number, got 1e999" in str(problem)


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(
        st.characters(
            codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\x85\u2028\u2029\ufeff"
        )
    ),
)
_DATA = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abcxyz_", min_size=1), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(deadline=None, max_examples=50)
@given(_DATA)
def test_reads_back_what_a_yaml_1_2_writer_writes(value: Any) -> None:
    document = parse_document(render({"key": value}), HERE)
    assert document.problems == []
    assert document.data == {"key": value}


@settings(deadline=None, max_examples=50)
@given(_DATA)
def test_every_node_has_a_place(value: Any) -> None:
    document = parse_document(render({"key": value}, flow_from=3), HERE)
    for path, _ in walk(document.data):
        place = document.places[path]
        assert place.key <= place.start <= place.end


@settings(deadline=None)
@given(st.text())
def test_never_raises(text: str) -> None:
    document = parse_document(text, HERE)
    assert document.problems or document.data is None or list(walk(document.data))


def test_agrees_with_ruamel_on_the_full_example(full_text: str) -> None:
    ours = _parse(full_text)
    theirs = YAML(typ="safe", pure=True).load(full_text)
    dates = ("validated_on",)
    assert {key: value for key, value in ours.items() if key not in dates}["verify"] == theirs["verify"]
    assert ours["recommended_path"] == theirs["recommended_path"]
    assert ours["level_reason"] == theirs["level_reason"]


def test_places_point_at_keys_and_ends_behind_the_content() -> None:
    document = parse_document("a: 1  # why\nb:\n  - x\n  - |\n    y\n    # z\n\n# end\nc: {d: 1}\n", HERE)
    places = document.places
    assert (places[("a",)].key, places[("a",)].start, places[("a",)].end) == ((0, 0), (0, 3), (0, 4))
    assert places[("b",)].end == (5, 7)
    assert places[("b", 1)].start == (3, 4)
    assert places[("c",)].end == (8, 9)
    assert places[("c", "d")].key == (8, 4)
    assert places[()].end == (8, 9)


def test_problem_names_file_line_and_column() -> None:
    document = parse_document("verify:\n  - command: x\n", Path("folder/card.yaml"))
    problem = document.problem(("verify", 0, "command"), "expected a list")
    assert str(problem) == "folder/card.yaml:2:5: /verify/0/command: expected a list"


def test_problem_at_a_missing_node_points_at_its_parent() -> None:
    document = parse_document("a:\n  b: 1\n", HERE)
    assert str(document.problem(("a", "c"), "missing")) == "card.yaml:1:1: /a/c: missing"


def test_pointer_escapes() -> None:
    document = parse_document("a/b~c: 1\na/b~c: 2\n", HERE)
    assert document.problems[0].pointer == "/a~1b~0c"


def test_all_duplicate_keys_are_reported() -> None:
    document = parse_document("a: 1\na: 2\nb: {c: 1, c: 2}\na: 3\n", HERE)
    assert [problem.pointer for problem in document.problems] == ["/a", "/b/c", "/a"]
    assert [problem.where.line for problem in document.problems] == [2, 3, 4]


def test_deep_nesting_is_refused() -> None:
    document = parse_document("[" * 500 + "]" * 500, HERE)
    assert "nested deeper than 40 levels" in str(document.problems[0])


def test_recursive_alias_is_refused() -> None:
    document = parse_document("a: &x\n  b: *x\n", HERE)
    assert document.data is None
    assert any("alias" in problem.message for problem in document.problems)


def test_lines_of_windows_are_counted_once() -> None:
    document = parse_document("a: 1\r\nb: 2\r\nb: 3\r\n", HERE)
    assert document.problems[0].where.line == 3


def test_byte_order_mark_is_no_key() -> None:
    assert _parse("\ufeffa: 1\n") == {"a": 1}


@settings(deadline=None)
@given(st.text(st.sampled_from("ab\r\n\x85\u2028")))
def test_split_lines_loses_nothing(text: str) -> None:
    assert "".join(split_lines(text)) == text


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a: \xff\n", "is not UTF-8 text (byte 3)"), (None, "no such file")],
)
def test_unreadable_file(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "card.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_document(path)
    assert str(caught.value) == f"{path}: {message}"


def test_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_document(tmp_path)


def test_control_character_is_a_problem() -> None:
    (problem,) = parse_document("a: \x01\n", HERE).problems
    assert "not valid YAML" in problem.message


def test_render_writes_no_infinity() -> None:
    assert math.isfinite(_parse(render({"a": 1e300}))["a"])
