"""The package: its table of formats."""

from __future__ import annotations

import pytest

from mbridge_skills.reporters import FORMATS, render
from mbridge_skills.verify.report import VerifyReport


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_ends_with_one_newline(report: VerifyReport, form: str) -> None:
    text = render(report, form)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_without_blocks(form: str) -> None:
    assert "example-skill" in render(VerifyReport("example-skill", "2026-11-30", ()), form)


@pytest.mark.parametrize("form", ["", "xml", "TEXT", "json_report"])
def test_unknown_format(report: VerifyReport, form: str) -> None:
    with pytest.raises(KeyError):
        render(report, form)
