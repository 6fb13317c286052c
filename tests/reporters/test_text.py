from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mbridge_skills.reporters import render
from mbridge_skills.verify.report import Status, VerifyReport


def test_whole(report: VerifyReport) -> None:
    assert render(report, "text", width=80) == (
        "verify example-skill  (2026-11-30T20:00:00+00:00)\n"
        "\n"
        "bridge  Upstream's test  [not verified]\n"
        "  no checkout  (help: --bridge DIR)\n"
        "\n"
        "cpu  Train on CPU  [failed, cpu-simulated, 12 s]\n"
        "verdict     criterion               found              limit\n"
        "passed      final-loss-finite       4.4 at 8 of 8      finite\n"
        "failed      parity                  loss 1.0e-01       1e-05\n"
        "failed      save-resume (optional)  loss 2.0e-01       1e-05\n"
        "not judged  clean-exit              no end in the log  exit code 0\n"
        "  parity: loss: 2 against 1\n"
        "with torch 2.13.0, megatron-core 0.19.2\n"
        "note: a note\n"
        "note: ddp.gradient_reduce_div_fusion=False: gloo cannot\n"
        "evidence: /tmp/somewhere/cpu.json\n"
        "log: /tmp/somewhere/cpu.log\n"
        "\n"
        "gpu  Train on GPUs  [not verified]\n"
        "  needs 2 GPUs, none visible\n"
        "\n"
        "other  Passed  [passed, 1 s]\n"
        "verdict  criterion          found          limit\n"
        "passed   final-loss-finite  4.4 at 8 of 8  finite\n"
        "\n"
        "result: failed\n"
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_or_ends_in_spaces(report: VerifyReport, width: int) -> None:
    long = replace(report.blocks[1], title="word " * 40, reason="reason " * 40, notes=("note " * 60,))
    lines = render(replace(report, blocks=(long,)), "text", width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("name", ["log", "evidence_file"])
def test_a_long_path_stays_in_one_piece(report: VerifyReport, name: str) -> None:
    path = Path("/tmp") / ("folder with spaces/" * 12) / "cpu.log"
    block = replace(report.blocks[1], **{name: path})
    assert str(path) in render(replace(report, blocks=(block,)), "text", width=80)


def test_a_long_detail_is_shortened(report: VerifyReport) -> None:
    result = next(each for each in report.blocks[1].criteria if each.id == "parity")
    long = replace(result, judgement=replace(result.judgement, detail="x" * 5000))
    text = render(replace(report, blocks=(replace(report.blocks[1], criteria=(long,)),)), "text", width=80)
    assert "x" * 50 in text
    assert "..." in text
    assert len(text) < 2000


def test_colour_only_on_demand(report: VerifyReport) -> None:
    assert "\x1b" not in render(report, "text", width=80)
    assert "\x1b[1;31mfailed    \x1b[0m" in render(report, "text", width=80, colour=True)


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"])
def test_environment_does_not_add_colour(
    report: VerifyReport, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    assert "\x1b" not in render(report, "text", width=80)


@pytest.mark.parametrize("colour", [True, False])
def test_what_a_log_holds_is_not_let_loose_on_the_terminal(
    hostile_report: VerifyReport, colour: bool
) -> None:
    text = render(hostile_report, "text", width=80, colour=colour)
    assert "\x1b[31mred" not in text
    assert not {"\x00", "\x07"} & set(text)
    assert text.count("損失") >= 6


def test_square_brackets_are_no_markup(report: VerifyReport) -> None:
    block = replace(report.blocks[0], reason="[bold]loud[/bold] [/x]", title="[red]t[/red]")
    text = render(replace(report, blocks=(block,)), "text")
    assert "[bold]loud[/bold] [/x]" in text
    assert "[red]t[/red]" in text


@pytest.mark.parametrize(
    ("status", "asked", "result"),
    [
        (Status.PASSED, True, "result: passed"),
        (Status.FAILED, True, "result: failed"),
        (Status.NOT_VERIFIED, True, "result: not verified"),
        (Status.PASSED, False, "result: not verified"),
    ],
)
def test_result(report: VerifyReport, status: Status, asked: bool, result: str) -> None:
    block = replace(report.blocks[0], status=status, asked=asked)
    assert render(replace(report, blocks=(block,)), "text").splitlines()[-1] == result


def test_long_details_are_shortened(report: VerifyReport) -> None:
    parity = report.blocks[1].criteria[1]
    detail = f"first\n{'x' * 1000}\nlast"
    long = replace(parity, judgement=replace(parity.judgement, detail=detail))
    text = render(replace(report, blocks=(replace(report.blocks[1], criteria=(long,)),)), "text", width=80)
    assert "  parity: first\n" in text
    assert "  parity: last\n" in text
    assert 200 < text.count("x") < 300
