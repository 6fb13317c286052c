from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mbridge_skills.checking.report import CheckReport, Located
from mbridge_skills.checking.reporters import render
from mbridge_skills.config.view import Origin

GOLDEN = """\
::error file=train.py,line=3,col=2,title=MB101::Only fsdp_dtensor is saved%0Ain: llama%0A\
raises: AssertionError: requires the fsdp_dtensor format! (validation)%0A\
help: set checkpoint.ckpt_format = "fsdp_dtensor" (safe)
::notice file=train.py,line=2,title=MB220::Switched off%0Ain: llama%0A\
changes: ddp.average_in_collective becomes False in Megatron-Bridge 0.6.2%0A\
changes: model.dtype becomes the value of model.params_dtype in Megatron-Bridge 0.6.2
::warning file=conf/launch.sh,line=9,col=1,title=MB501::possible: Too few connections \
(depends on env:A, world_size)%0Ain: llama%0Awhen: FSDP == 1 and TP > 1%0A\
help: set A=8, B unset (unsafe: it changes what was asked for)%0Ahelp: Or leave both alone.
::warning title=MB601::The title of MB601%0Afrom: --overrides
::error file=bad.yaml,line=7,title=unreadable::expected a mapping
"""


def test_golden(report: CheckReport) -> None:
    text = render(report, "github")
    assert text.startswith(GOLDEN)
    assert text.removeprefix(GOLDEN).startswith("4 findings (")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a,b.py", "a%2Cb.py"),
        ("a:b.py", "a%3Ab.py"),
        ("100%.py", "100%25.py"),
        ("a\nb.py", "a\N{REPLACEMENT CHARACTER}b.py"),
    ],
)
def test_paths_are_escaped(
    path: str, shown: str, make: Callable[..., Located], report_of: Callable[..., CheckReport]
) -> None:
    one = make("MB101", origin=Origin(Path(path), 1))
    assert render(report_of(one), "github").startswith(f"::error file={shown},line=1,title=MB101::The title")


def test_messages_are_escaped(make: Callable[..., Located], report_of: Callable[..., CheckReport]) -> None:
    one = make("MB101", exception="ValueError", message="100% of a, b: c\r\n::error::d")
    line = render(report_of(one), "github").splitlines()[0]
    assert line.endswith("%0Araises: ValueError: 100%25 of a, b: c ::error::d (validation)")


@pytest.mark.parametrize(
    ("severity", "possible", "command"),
    [
        ("error", False, "error"),
        ("warning", False, "warning"),
        ("info", False, "notice"),
        ("error", True, "error"),
        ("warning", True, "warning"),
        ("info", True, "notice"),
    ],
)
def test_commands(
    severity: str,
    possible: bool,
    command: str,
    make: Callable[..., Located],
    report_of: Callable[..., CheckReport],
) -> None:
    one = make("MB101", {"severity": severity}, possible=possible)
    assert render(report_of(one), "github").startswith(f"::{command} ")


def test_a_hostile_file_starts_no_command(hostile_report: CheckReport) -> None:
    lines = render(hostile_report, "github").splitlines()
    assert len(lines) == 4
    assert [line.startswith("::") for line in lines] == [True, True, True, False]
