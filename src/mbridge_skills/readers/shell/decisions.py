"""Choosing outcomes where a script does not decide a test by itself."""

from __future__ import annotations


class Decisions:
    """Which outcomes this reading of the script assumes: given ones first, then the first outcome of each
    test."""

    def __init__(self, given: tuple[int, ...], limit: int) -> None:
        self.taken: list[int] = []
        self.open: list[tuple[int, ...]] = []
        self.conditions: list[str] = []
        self._given = given
        self._limit = limit
        self._known: dict[str, int] = {}

    def choose(self, outcomes: list[str]) -> int | None:
        """The outcome to assume, by its place among ``outcomes``; None where too many were chosen already."""
        key = "\n".join(outcomes)
        if key in self._known:
            return self._known[key]
        at = len(self.taken)
        if at < len(self._given):
            chosen = self._given[at]
        elif at >= self._limit:
            return None
        else:
            chosen = 0
            self.open += [(*self.taken, other) for other in range(1, len(outcomes))]
        self.taken.append(chosen)
        self._known[key] = chosen
        self.conditions.append(outcomes[chosen])
        return chosen
