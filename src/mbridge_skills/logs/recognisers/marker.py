"""The smoke program's own lines (:mod:`mbridge_skills.logs.markers`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mbridge_skills.logs import markers
from mbridge_skills.logs.attribution import Source
from mbridge_skills.logs.events import CannotRun, Environment, Event, Finished, Phase
from mbridge_skills.logs.recognisers.base import NOTHING, Recogniser


class MarkerRecogniser(Recogniser):
    """Gives :class:`Environment`, :class:`Phase` and :class:`Finished`.

    Other markers are passed over, so that an old parser reads a newer program's log.
    """

    hints = (markers.PREFIX,)

    def read(self, line: int, source: Source, text: str) -> Sequence[Event]:
        """The events of the markers in the line; other output may stand before and behind each."""
        if markers.PREFIX not in text:
            return NOTHING
        found = (_event(line, source, record) for record in _records(text))
        return [event for event in found if event is not None]


def _records(text: str) -> Iterator[dict[str, Any]]:
    for body in text.split(markers.PREFIX)[1:]:
        marker = markers.PREFIX + body
        record = markers.parse(marker) or markers.parse(marker[: marker.rfind("}") + 1])
        if record is not None:
            yield record


def _event(line: int, source: Source, record: dict[str, Any]) -> Event | None:
    rank = record.get("rank")
    rank = rank if type(rank) is int else source.rank
    kind = record["event"]
    if kind == markers.PHASE and isinstance(name := record.get("phase"), str):
        return Phase(line, rank, name)
    if kind == markers.ENVIRONMENT:
        return Environment(line, rank, {key: value for key, value in record.items() if key != "event"})
    if kind == markers.CANNOT_RUN and isinstance(reason := record.get("reason"), str):
        return CannotRun(line, rank, reason)
    if kind == markers.FINISHED:
        return Finished(line, rank)
    return None
