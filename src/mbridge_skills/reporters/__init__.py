"""Reporters turn a finished report into text; they know nothing of how it came about.

A new format is a new module here with ``render(report) -> str``, named in ``_MODULES``.
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from mbridge_skills.verify.report import VerifyReport

_MODULES = {"text": "text", "json": "json_report", "junit": "junit"}
FORMATS = tuple(_MODULES)


class Reporter(Protocol):
    """A module of this package."""

    def render(self, report: VerifyReport, *, width: int | None, colour: bool) -> str:
        """The report as text, with a newline at its end."""


def render(report: VerifyReport, form: str, *, width: int | None = None, colour: bool = False) -> str:
    """``report`` in one of :data:`FORMATS`. Width in columns and colour matter for ``text`` alone."""
    module = cast(Reporter, importlib.import_module(f"mbridge_skills.reporters.{_MODULES[form]}"))
    return module.render(report, width=width, colour=colour)
