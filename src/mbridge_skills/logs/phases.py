"""The iterations of one phase of a run, in bounded memory."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import isfinite

from mbridge_skills.logs.events import Iteration

MOST_RECORDS = 10_000
MOST_NON_FINITE = 20


@dataclass
class PhaseSeries:
    """What was seen of a phase's iterations."""

    name: str
    count: int = 0  # records, the cut-off ones included
    incomplete: int = 0  # records that are cut off
    first: Iteration | None = None
    last: Iteration | None = None
    total: int | None = None  # the run's last iteration, as the last record that says so states it
    non_finite: list[Iteration] = field(default_factory=list)  # the first MOST_NON_FINITE
    non_finite_count: int = 0  # records with a nan or inf among losses, gradient norm and parameter norm
    skipped: int = 0  # iterations skipped, as the records count them
    nan: int = 0  # iterations with a nan loss, as the records count them
    duplicates: int = 0  # records with the iteration of the record before
    out_of_order: int = 0  # records with a smaller iteration than the record before: a restart
    _head: list[Iteration] = field(default_factory=list, repr=False)
    _tail: deque[Iteration] = field(default_factory=lambda: deque(maxlen=MOST_RECORDS // 2), repr=False)

    @property
    def records(self) -> list[Iteration]:
        """The records in order; where there are more than MOST_RECORDS, its first and last halves only."""
        return [*self._head, *self._tail]

    @property
    def truncated(self) -> bool:
        """Whether :attr:`records` lacks records from the middle."""
        return self.count > MOST_RECORDS

    def add(self, record: Iteration) -> None:
        """Takes the next record."""
        self.count += 1
        self.incomplete += not record.complete
        if self.last is not None:
            self.duplicates += record.iteration == self.last.iteration
            self.out_of_order += record.iteration < self.last.iteration
        self.first = self.first or record
        self.last = record
        if record.total is not None:
            self.total = record.total
        self.skipped += record.skipped or 0
        self.nan += record.nan or 0
        if not _finite(record):
            self.non_finite_count += 1
            if len(self.non_finite) < MOST_NON_FINITE:
                self.non_finite.append(record)
        if len(self._head) < MOST_RECORDS // 2:
            self._head.append(record)
        else:
            self._tail.append(record)


def _finite(record: Iteration) -> bool:
    norms = (record.grad_norm, record.params_norm)
    return all(map(isfinite, record.losses.values())) and all(
        norm is None or isfinite(norm) for norm in norms
    )
