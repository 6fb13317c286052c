"""Reporters turn a finished check into text; they know nothing of how it came about.

A new format is a new module here with ``render(report, *, width, colour) -> str``, named in ``_MODULES``.
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from mbridge_skills.checking.report import CheckReport

_MODULES = {
    "text": "text",
    "concise": "concise",
    "json": "json_report",
    "sarif": "sarif",
    "junit": "junit",
    "github": "github",
}
FORMATS = tuple(_MODULES)


class Reporter(Protocol):
    """A module of this package."""

    def render(self, report: CheckReport, *, width: int | None, colour: bool) -> str:
        """The report as text, with a newline at its end."""


def render(report: CheckReport, form: str, *, width: int | None = None, colour: bool = False) -> str:
    """``report`` in one of :data:`FORMATS`.

    ``width`` in columns bounds the source lines that ``text`` shows; ``colour`` matters for ``text`` and
    ``concise``. Paths below the current folder are written relative to it. Only ``text`` reads files: the
    ones that were checked, for the lines it shows.

    Raises:
        KeyError: there is no such format.
    """
    module = cast(Reporter, importlib.import_module(f"{__name__}.{_MODULES[form]}"))
    return module.render(report, width=width, colour=colour)
