from __future__ import annotations

from pathlib import Path

import pytest

from mbridge_skills.bundle.frontmatter import parse_skill_document, read_skill_document
from mbridge_skills.errors import InputError

HERE = Path("SKILL.md")


def test_head_and_body() -> None:
    document = parse_skill_document("---\nname: a\ndescription: b\n---\n\n# Title\n", HERE)
    assert document.data == {"name": "a", "description": "b"}
    assert document.body == "\n# Title\n"
    assert document.body_line == 5


@pytest.mark.parametrize("value", ["a --- b", '"---"', "a---", "'--- x'"])
def test_hyphens_inside_a_value(value: str) -> None:
    document = parse_skill_document(f"---\nname: {value}\n---\nbody\n---\nmore\n", HERE)
    assert document.data == {"name": value.strip("'\"")}
    assert document.body == "body\n---\nmore\n"


def test_indented_hyphens_do_not_end_the_head() -> None:
    document = parse_skill_document("---\ndescription: |\n  a\n  ---\n  b\n---\n", HERE)
    assert document.data == {"description": "a\n---\nb\n"}
    assert document.body == ""


def test_windows_line_endings_and_byte_order_mark() -> None:
    document = parse_skill_document("\ufeff---\r\nname: a\r\n---\r\nbody\r\n", HERE)
    assert (document.data, document.body) == ({"name": "a"}, "body\r\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "SKILL.md:1: expected a line of three hyphens, then YAML"),
        ("# Title\n", "SKILL.md:1: expected a line of three hyphens, then YAML"),
        (" ---\nname: a\n---\n", "SKILL.md:1: expected a line of three hyphens, then YAML"),
        ("---\nname: a\n", "SKILL.md:1: the head has no end: expected a second line ---"),
        ("---\nname: a\n----\n", "SKILL.md:1: the head has no end: expected a second line ---"),
        ("---\n- a\n---\n", "SKILL.md:2: expected a mapping between the lines ---"),
        ("---\n---\n", "SKILL.md:2: expected a mapping between the lines ---"),
        (
            "---\nname: a\nname: b\n---\n",
            'SKILL.md:3:1: /name: duplicate key "name": it is already on line 2',
        ),
        ("---\nname: [a\n---\n", "SKILL.md:3:1: not valid YAML"),
    ],
)
def test_broken_head(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_skill_document(text, HERE)
    assert str(caught.value).startswith(message)


def test_read(tmp_path: Path) -> None:
    path = tmp_path / "SKILL.md"
    path.write_text("---\nname: a\n---\n")
    assert read_skill_document(path).data == {"name": "a"}
    with pytest.raises(InputError, match="no such file"):
        read_skill_document(tmp_path / "other.md")
