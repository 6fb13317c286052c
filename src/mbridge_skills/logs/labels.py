"""The task labels of ``srun -l``: "3: " before every line.

"3: " also begins ordinary lines (numbered lists), so a label counts only where lines have it consistently: a
run of labelled lines is held back until it is long enough, has one label width (srun pads), and is not just
counting up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from mbridge_skills.logs.lines import Piece

_LABEL = re.compile(r"( {0,5}\d{1,6}):(?: |$)", re.ASCII)
_FIRST = frozenset(" 0123456789")  # what a label begins with
_ENOUGH = 8  # labelled lines in a row that show a labelled log
_MOST_HELD = 64
_LONGEST_HELD = 1 << 16
_MOST_UNLABELLED = 8  # lines in a row without a label that end a labelled log

Labelled = tuple[int, bool, int | None, str]  # line number, whether it begins a line, label, text without it


class Labels:
    """Takes srun's labels off the lines of a log that has them."""

    def __init__(self) -> None:
        self._held: list[tuple[Piece, str | None]] = []
        self._on = False
        self._unlabelled = 0
        self._label: int | None = None  # of the line whose pieces are coming in

    def pass_by(self, text: str) -> bool:
        """Whether a line with this text is certainly unlabelled and nothing is held back before it: the
        caller may then go on without :meth:`feed`."""
        if self._on or self._held:
            return False
        return text[:1] not in _FIRST or _LABEL.match(text) is None

    def feed(self, piece: Piece) -> Iterator[Labelled]:
        """The lines that are decided now, in order."""
        line, fresh, text = piece
        found = _LABEL.match(text) if fresh and (self._on or len(text) <= _LONGEST_HELD) else None
        if self._on:
            yield self._strip(piece, found.group(1) if found else None)
            self._unlabelled = 0 if found or not fresh else self._unlabelled + 1
            self._on = self._unlabelled < _MOST_UNLABELLED
            return
        if found is None and (fresh or not self._held or len(text) > _LONGEST_HELD):
            yield from self._release()
            yield line, fresh, None, text
            return
        self._held.append((piece, found.group(1) if found else None))
        if len(self._held) >= _ENOUGH:
            if self._consistent():
                self._on = True
                self._unlabelled = 0
                yield from self._release()
            elif len(self._held) >= _MOST_HELD:
                yield from self._release()

    def close(self) -> Iterator[Labelled]:
        """What is still held back. A short log counts as labelled where its lines are consistent."""
        self._on = self._consistent()
        yield from self._release()

    def _consistent(self) -> bool:
        labels = [label for _, label in self._held if label is not None]
        numbers = [int(label) for label in labels]
        counting = all(b == a + 1 for a, b in pairwise(numbers))
        return len({len(label) for label in labels}) == 1 and not counting

    def _release(self) -> Iterator[Labelled]:
        held, self._held = self._held, []
        for piece, label in held:
            yield self._strip(piece, label) if self._on else (piece[0], piece[1], None, piece[2])

    def _strip(self, piece: Piece, label: str | None) -> Labelled:
        line, fresh, text = piece
        if fresh:
            self._label = None if label is None else int(label)
        if label is None:
            return line, fresh, self._label, text
        return line, fresh, self._label, text[len(label) + 1 :].removeprefix(" ")
