from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mbridge_skills.checking.report import CheckReport, Located
from mbridge_skills.checking.reporters import render
from mbridge_skills.config.view import UNKNOWN, Origin

GOLDEN = """\
train.py:3:2: MB101 error: Only fsdp_dtensor is saved
  in: llama
  raises: AssertionError: requires the fsdp_dtensor format! (validation)
  |
3 |     cfg.checkpoint.ckpt_format = "torch_dist"
  |     ^
  help: set checkpoint.ckpt_format = "fsdp_dtensor" (safe)

train.py:2: MB220 info: Switched off
  in: llama
  changes: ddp.average_in_collective becomes False in Megatron-Bridge 0.6.2
  changes: model.dtype becomes the value of model.params_dtype in Megatron-Bridge 0.6.2
  |
2 |     cfg = base()

conf/launch.sh:9:1: MB501 warning: possible: Too few connections (depends on env:A, world_size)
  in: llama
  when: FSDP == 1 and TP > 1
  help: set A=8, B unset (unsafe: it changes what was asked for)
  help: Or leave both alone.

--overrides: MB601 warning: The title of MB601
  from: --overrides

bad.yaml:7: error: expected a mapping

4 findings (1 error, 2 warnings, 1 info; 1 only possible) in 3 configurations of 2 files; 4 values unknown; \
1 suppressed; 5 unlikely left out (--possible shows them); 1 file could not be read; \
judged for Megatron-Bridge 0.6.2 / megatron-core 0.19.2, \
which is assumed (--bridge-version names another)
"""

CONCISE = """\
train.py:3:2: MB101 error: Only fsdp_dtensor is saved [llama]
train.py:2: MB220 info: Switched off [llama]
conf/launch.sh:9:1: MB501 warning: possible: Too few connections (depends on env:A, world_size) [llama]
--overrides: MB601 warning: The title of MB601
bad.yaml:7: error: expected a mapping
"""

Make = Callable[..., Located]
ReportOf = Callable[..., CheckReport]


def without_colours(text: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def test_golden(report: CheckReport) -> None:
    assert render(report, "text") == GOLDEN


def test_concise_is_one_line_per_finding(report: CheckReport) -> None:
    assert render(report, "concise") == CONCISE + GOLDEN.splitlines()[-1] + "\n"


@pytest.mark.parametrize("form", ["text", "concise"])
def test_colours_change_nothing_else(form: str, report: CheckReport) -> None:
    coloured = render(report, form, colour=True)
    assert "\x1b[1;31m" in coloured
    assert without_colours(coloured) == render(report, form)


@pytest.mark.parametrize(
    ("changes", "summary"),
    [
        (
            {},
            "0 findings (0 errors, 0 warnings, 0 infos) in 3 configurations of 2 files; 4 values unknown; "
            "judged for Megatron-Bridge 0.6.2 / megatron-core 0.19.2",
        ),
        (
            {"configs": 1, "files": 1, "unknown_values": 1, "release_source": "installed", "suppressed": 2},
            "0 findings (0 errors, 0 warnings, 0 infos) in 1 configuration of 1 file; 1 value unknown; "
            "2 suppressed; judged for Megatron-Bridge 0.6.2 / megatron-core 0.19.2, which is installed",
        ),
        (
            {"release_source": "sub/uv.lock"},
            "0 findings (0 errors, 0 warnings, 0 infos) in 3 configurations of 2 files; 4 values unknown; "
            "judged for Megatron-Bridge 0.6.2 / megatron-core 0.19.2, as in sub/uv.lock",
        ),
    ],
)
def test_summary(changes: dict[str, object], summary: str, report_of: ReportOf) -> None:
    assert render(report_of(**changes), "text") == render(report_of(**changes), "concise") == summary + "\n"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"),
        (True, "True"),
        ("bf16", '"bf16"'),
        ("torch.float32", "torch.float32"),
        ([1, 2], "[1, 2]"),
        (UNKNOWN, "another value"),
        ({"same_as": "a.c"}, "the value of a.c"),
    ],
)
def test_what_becomes_of_a_value(value: object, shown: str, make: Make, report_of: ReportOf) -> None:
    text = render(report_of(make("MB220", becomes={"a.b": value})), "text")
    assert f"  changes: a.b becomes {shown} in Megatron-Bridge 0.6.2\n" in text


@pytest.mark.parametrize(
    ("config", "source", "origin", "named"),
    [
        ("train.py", "train.py", "train.py", False),
        ("conf/a.yaml", "conf/a.yaml", "conf/a.yaml", False),
        ("a", "conf/a.yaml", "conf/a.yaml", False),
        ("llama", "train.py", "train.py", True),
        ("train.py", "train.py", "launch.sh", True),  # set in another file than the one that is judged
    ],
)
def test_a_configuration_is_named_unless_it_is_the_file(
    config: str, source: str, origin: str, named: bool, make: Make, report_of: ReportOf
) -> None:
    one = make("MB101", config=config, source=Path(source), origin=Origin(Path(origin), 1))
    assert (f"  in: {config}\n" in render(report_of(one), "text")) is named


def test_paths_are_relative_below_the_current_folder(folder: Path, make: Make, report_of: ReportOf) -> None:
    for given, shown in [
        (folder / "train.py", "train.py"),
        (folder / "sub" / ".." / "train.py", "train.py"),
        (Path("/elsewhere/train.py"), "/elsewhere/train.py"),
        (Path("../train.py"), "../train.py"),
    ]:
        text = render(report_of(make("MB101", origin=Origin(given, 3, 2))), "concise")
        assert text.startswith(f"{shown}:3:2: MB101 error")


def excerpt(text: str) -> list[str]:
    return [line for line in text.splitlines() if re.match(r" *\d* \|", line)]


@pytest.mark.parametrize(
    ("line", "column", "shown"),
    [
        ("損失 = x", 4, ["  |", "1 | 損失 = x", "  |      ^"]),  # a wide letter takes two columns
        ("x", 99, ["  |", "1 | x", "  |  ^"]),  # beyond the end
        ("x\x1b[2J", 1, ["  |", "1 | x\N{REPLACEMENT CHARACTER}[2J", "  | ^"]),
        ("a" * 60 + "B" + "c" * 60, 61, ["  |", f"1 | …{'a' * 12}B{'c' * 11}…", "  |" + " " * 14 + "^"]),
        ("B" + "c" * 60, 1, ["  |", f"1 | B{'c' * 24}…", "  | ^"]),
        ("", 1, ["  |", "1 |", "  | ^"]),
    ],
)
def test_excerpts(line: str, column: int, shown: list[str], make: Make, report_of: ReportOf) -> None:
    Path("x.py").write_text(line + "\n")
    one = make("MB101", origin=Origin(Path("x.py"), 1, column))
    assert excerpt(render(report_of(one), "text", width=30)) == shown


@pytest.mark.parametrize("line", [0, 99])
def test_no_excerpt_of_a_line_that_is_not_there(line: int, make: Make, report_of: ReportOf) -> None:
    one = make("MB101", origin=Origin(Path("train.py"), line, 1))
    assert excerpt(render(report_of(one), "text")) == []


def test_a_pipe_is_not_waited_for(make: Make, report_of: ReportOf) -> None:
    os.mkfifo("pipe")
    one = make("MB101", origin=Origin(Path("pipe"), 1, 1))
    assert excerpt(render(report_of(one), "text")) == []


def test_a_file_that_is_not_text(make: Make, report_of: ReportOf) -> None:
    Path("x.sh").write_bytes(b"\xef\xbb\xbfA=\xff\n")
    one = make("MB101", origin=Origin(Path("x.sh"), 1, 1))
    assert excerpt(render(report_of(one), "text"))[1] == "1 | A=\N{REPLACEMENT CHARACTER}"
