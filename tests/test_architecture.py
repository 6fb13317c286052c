"""Rules of the code base that can be read off the files."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
SOURCES = sorted((TOP / "src").rglob("*.py"))
TRAINS = TOP / "src/mbridge_skills/smoke"

# What costs a noticeable part of a second to import: never on the way to --help.
HEAVY = {"torch", "megatron", "rich", "jsonschema", "yaml", "ruamel", "jinja2", "libcst"}


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(TOP / "src").as_posix())
def test_nothing_but_the_smoke_program_imports_torch(path):
    roots = {name.partition(".")[0] for name in imported(ast.parse(path.read_text()))}
    assert not roots & {"torch", "megatron"} or TRAINS in path.parents


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(TOP / "src").as_posix())
def test_a_file_has_one_reason_to_change(path):
    assert len(path.read_text().splitlines()) <= 400
    assert path.stem not in {"utils", "util", "helpers", "misc", "common"}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"], ["run", "verify", "--help"]])
def test_help_imports_nothing_heavy(words):
    code = (
        "import sys, json; from mbridge_skills.cli.main import run; run(sys.argv[1:]);"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert not HEAVY & set(json.loads(done.stdout.splitlines()[-1]))


def test_the_top_level_holds_what_it_should():
    listed = subprocess.run(
        ["git", "-C", str(TOP), "ls-tree", "--name-only", "HEAD"], capture_output=True, text=True, check=False
    )
    if listed.returncode:  # not a git checkout, for instance an unpacked source archive
        return
    allowed = {"skills", "docs", "src", "tests", "card.yaml", "pyproject.toml", "Makefile", "LICENSE"}
    names = set(listed.stdout.split())
    assert {
        name for name in names - allowed if not name.startswith(".") and not name.endswith(".md")
    } == set()
