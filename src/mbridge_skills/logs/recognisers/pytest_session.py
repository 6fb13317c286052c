"""pytest's session header, closing line and short summary. Under torchrun there is one of each per rank."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mbridge_skills.logs.attribution import Source
from mbridge_skills.logs.events import Event, PytestFailure, PytestSession, PytestSummary
from mbridge_skills.logs.recognisers.base import NOTHING, Recogniser

_START = re.compile(r"= test session starts =")
_OUTCOME = r"(?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun|subtests passed)"
_COUNTS = rf"(?:\d{{1,9}} {_OUTCOME}(?:, \d{{1,9}} {_OUTCOME})*|no tests (?:ran|collected))"
_CLOSING = rf"(?P<counts>{_COUNTS}) in (?P<seconds>\d{{1,9}}\.\d+)s(?: \([\d:, days]+\))?"
# Undecorated (-q) it must be the whole line; decorated, it may stand behind another rank's output.
_QUIET = re.compile(rf"{_CLOSING}\s*")
_DECORATED = re.compile(rf"= {_CLOSING} =")
_COUNT = re.compile(r"(\d+) ([a-z ]+)")
_FAILURE = re.compile(r"(?P<outcome>FAILED|ERROR) (?P<node>\S+\.py(?:::.*?)?)(?: - (?P<reason>.*))?")
_LONGEST_REASON = 1000


class PytestRecogniser(Recogniser):
    """Gives :class:`PytestSession`, :class:`PytestSummary` and :class:`PytestFailure`."""

    # Every outcome may stand last before the time.
    hints = (
        "FAILED ",
        "ERROR ",
        "s ==",
        ") ==",
        "ed in ",
        "rror in ",
        "rrors in ",
        "rning in ",
        "rnings in ",
        "ran in ",
    )

    def read(self, line: int, source: Source, text: str) -> Sequence[Event]:
        """The events of the line; several where ranks write into one line."""
        if text.startswith(("FAILED ", "ERROR ")):
            found = _FAILURE.fullmatch(text.rstrip())
            return (_failure(line, source, found),) if found else NOTHING
        if "s ==" in text or ") ==" in text:
            if " test session starts " in text:
                return [PytestSession(line, source.rank) for _ in _START.finditer(text)]
            return [_summary(line, source, found) for found in _DECORATED.finditer(text)]
        if " in " in text and text[:1].isalnum() and (found := _QUIET.fullmatch(text)):
            return (_summary(line, source, found),)
        return NOTHING


def _summary(line: int, source: Source, found: re.Match[str]) -> PytestSummary:
    counts: dict[str, int] = {}
    for number, word in _COUNT.findall(found["counts"]):
        # The contract has one spelling for each outcome; pytest has the singular and the plural.
        word = {"errors": "error", "warning": "warnings"}.get(word, word)
        counts[word] = counts.get(word, 0) + int(number)
    return PytestSummary(line, source.rank, counts, float(found["seconds"]))


def _failure(line: int, source: Source, found: re.Match[str]) -> PytestFailure:
    return PytestFailure(
        line,
        source.rank,
        node_id=found["node"],
        outcome="failed" if found["outcome"] == "FAILED" else "error",
        reason=(found["reason"] or "")[:_LONGEST_REASON],
    )
