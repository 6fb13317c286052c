from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mbridge_skills.checking.report import CheckReport
from mbridge_skills.checking.reporters import FORMATS, render

TOP = Path(__file__).parents[3]  # a relative PYTHONPATH counts from here


def harmful(text: str) -> list[str]:
    return [
        letter
        for letter in text
        if (letter < " " and letter != "\n") or "\x7f" <= letter <= "\x9f" or letter in "\u202e\ufffe\udcff"
    ]


def test_formats() -> None:
    assert FORMATS == ("text", "concise", "json", "sarif", "junit", "github")


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_harmful_passes(form: str, hostile_report: CheckReport) -> None:
    text = render(hostile_report, form)
    assert harmful(text) == []
    text.encode()
    assert "損失" in text


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_report(form: str) -> None:
    empty = CheckReport("0.6.2", "0.19.2", "option", 0, 0, 0, ())
    text = render(empty, form)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_report_gives_the_same_text(form: str, report: CheckReport) -> None:
    assert render(report, form) == render(report, form)


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in ("text", "concise")])
def test_colour_and_width_change_nothing_for_programs(form: str, report: CheckReport) -> None:
    assert render(report, form, width=30, colour=True) == render(report, form)


def test_an_unknown_format(report: CheckReport) -> None:
    with pytest.raises(KeyError):
        render(report, "html")


def test_modules_are_imported_when_asked_for() -> None:
    code = (
        "import sys; import mbridge_skills.checking.reporters as r;"
        "print([n for n in sys.modules if n.startswith(r.__name__ + '.') or n.startswith(('rich', 'xml'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
