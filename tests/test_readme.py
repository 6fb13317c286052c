"""The README says what the program does."""

import re
import shlex
from pathlib import Path

import click
import pytest

from mbridge_skills.cli.main import root
from mbridge_skills.criteria import IDS
from mbridge_skills.exit_codes import ExitCode

TOP = Path(__file__).parents[1]
README = (TOP / "README.md").read_text(encoding="utf-8")


def test_the_table_of_exit_codes_is_whole():
    table = README.partition("### Exit codes")[2].partition("\n## ")[0]
    assert [int(code) for code in re.findall(r"^\| (\d) \|", table, re.MULTILINE)] == [
        int(code) for code in ExitCode
    ]


def test_the_output_shown_is_of_this_program():
    (output,) = re.findall(r"```text\n(verify .*?)```", README, re.DOTALL)
    named = set(re.findall(r"^(?:passed|failed) +([a-z-]+)", output, re.MULTILINE))
    assert named == set(IDS) - {"pytest-passes"}
    assert "cpu-simulated" in output
    assert output.count("[not verified]") == 2


@pytest.mark.parametrize("words", re.findall(r"^\.venv/bin/(skill .*)$", README, re.MULTILINE))
def test_commands_parse(words):
    command: click.Command = root
    rest = shlex.split(words)[1:]
    while isinstance(command, click.Group):
        context = click.Context(command)
        found = command.get_command(context, rest[0])
        assert found is not None, words
        command, rest = found, rest[1:]
    command.make_context(words, rest)


def test_the_map_names_real_folders():
    block = README.partition("## Map")[2]
    folder = TOP
    for line in block.partition("```text\n")[2].partition("```")[0].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        for name in re.split(
            r",\s*", line.split("  ")[0] if depth == 0 else re.split(r"\s{2,}", line.strip())[0]
        ):
            if depth == 0:
                folder = TOP / name
                assert folder.exists(), name
            elif depth == 1:
                parent = folder / name
                assert parent.exists(), name
            else:
                assert (parent / name).exists(), name


@pytest.mark.parametrize("target", re.findall(r"\]\((?!http)([^)#]+)", README))
def test_links_resolve(target):
    assert (TOP / target).exists()
