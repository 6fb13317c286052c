from __future__ import annotations

from pathlib import Path

import pytest

from mbridge_skills.errors import InputError
from mbridge_skills.gotchas.load import gotcha_files, lint_gotchas, load_gotcha, load_gotchas

SKILL = Path(__file__).parents[2] / "skills" / "nemo-mbridge-perf-megatron-fsdp"
HEAD = """\
code: MB101
title: A title
severity: error
confidence: proved
applies: {megatron-bridge: ">=0.4"}
when: ddp.use_megatron_fsdp
effect:
  phase: validation
  raises:
    - exception: ValueError
      message: No ... here
fix:
  set: {ddp.use_megatron_fsdp: false}
  safe: false
log: ["No .* here"]
sources: [somewhere]
"""


def written(
    folder: Path, head: str = HEAD, body: str = "What happens.", name: str = "MB101-a-title.md"
) -> Path:
    path = folder / "gotchas" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\n{head}---\n\n{body}\n")
    return path


def test_a_gotcha(tmp_path: Path) -> None:
    gotcha = load_gotcha(written(tmp_path))
    assert gotcha.code == "MB101"
    assert gotcha.applies == {"megatron-bridge": ">=0.4"}
    assert gotcha.when.operands == {"ddp.use_megatron_fsdp"}
    assert [(one.exception, one.message) for one in gotcha.raises] == [("ValueError", "No ... here")]
    assert gotcha.fix is not None
    assert gotcha.fix.settings == {"ddp.use_megatron_fsdp": False}
    assert gotcha.body == "What happens."
    assert lint_gotchas(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("code: MB101", "code: MB102", 2, "the file name must be the code"),
        ("title: A title", "title: ''", 3, "expected a text"),
        ("severity: error", "severity: bad", 4, "expected one of error, warning, info, got 'bad'"),
        ("confidence: proved", "certainty: proved", 5, 'unknown key "certainty"'),
        ("confidence: proved\n", "", 2, 'required key "confidence" is missing'),
        (">=0.4", "0.4", 6, "expected a release specifier"),
        ("{megatron-bridge:", "{bridge:", 6, 'unknown key "bridge"'),
        (
            "when: ddp.use_megatron_fsdp",
            "when: ddp.use_megatron_fdsp",
            7,
            "no supported release has the path",
        ),
        ("when: ddp.use_megatron_fsdp", "when: fsdp", 7, 'column 1 of the condition: unknown name "fsdp"'),
        ("phase: validation", "phase: later", 9, "expected one of validation"),
        ("exception: ValueError", "exception: 3", 11, "expected a text"),
        ("{ddp.use_megatron_fsdp: false}", "{ddp.fsdp: false}", 14, "no supported release has the path"),
        ("  safe: false\n", "", 13, "say whether the fix is safe"),
        ("sources: [somewhere]", "sources: somewhere", 17, "expected a list"),
        ("sources: [somewhere]", "sources: [", 18, "not valid YAML"),
    ],
)
def test_an_error_names_the_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    assert old in HEAD
    path = written(tmp_path, HEAD.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_gotcha(path)
    text = str(caught.value)
    assert said in text
    assert f"{path}:{line}" in text


def test_an_error_of_validation_says_what_is_raised(tmp_path: Path) -> None:
    head = HEAD[: HEAD.index("  raises:")] + HEAD[HEAD.index("fix:") :]
    with pytest.raises(InputError, match="says what is raised"):
        load_gotcha(written(tmp_path, head))


def test_text_is_required(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="text after the head is missing"):
        load_gotcha(written(tmp_path, body=""))


@pytest.mark.parametrize(
    "text", ["", "code: MB101\n", "---\ncode: MB101\n", "---\n- a\n---\n\ntext\n", "---\n\xff"]
)
def test_no_gotcha_at_all(tmp_path: Path, text: str) -> None:
    path = written(tmp_path)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        load_gotcha(path)
    assert str(path) in str(caught.value)


def test_codes_are_unique(tmp_path: Path) -> None:
    written(tmp_path)
    written(tmp_path, name="MB101-another.md")
    with pytest.raises(InputError, match=r"MB101 is taken already, by MB101-a-title\.md"):
        load_gotchas(tmp_path)


def test_lint_finds_what_loading_passes_over(tmp_path: Path) -> None:
    written(tmp_path, HEAD + "title: Again\n")
    written(tmp_path, HEAD.replace("MB101", "MB102").replace("No .* here", "No (here"), name="MB102-b.md")
    assert len(load_gotchas(tmp_path)) == 2
    said = [problem.message for problem in lint_gotchas(tmp_path)]
    assert any('duplicate key "title"' in message for message in said)
    assert any("not a regular expression" in message for message in said)


def test_our_own_gotchas_are_clean() -> None:
    assert lint_gotchas(SKILL) == []
    assert len(load_gotchas(SKILL)) == len(gotcha_files(SKILL)) > 80


def test_a_silent_change_is_info() -> None:
    for gotcha in load_gotchas(SKILL):
        if gotcha.becomes:
            assert (gotcha.severity, gotcha.phase) == ("info", "silent"), gotcha.code
