"""Whose line it is: the prefixes by which launchers and torch name the rank that printed a line."""

from __future__ import annotations

import re
from dataclasses import dataclass

# torchrun --tee: "[default3]:", the local rank. torch's excepthook and C++ log: "[rank3]:".
# Megatron: "[Rank 3]".
_PREFIX = re.compile(r"\[(?:(default)(\d{1,6})\]:|(rank)(\d{1,6})\]:|(Rank) (\d{1,6})\]:?) ?")
_KNOWN_SOURCES = 4096


@dataclass(frozen=True)
class Source:
    """The origin of a line. ``stream`` tells writers apart even where no global rank is known."""

    rank: int | None = None
    stream: str = ""
    by_torch: bool = False  # the innermost prefix is torch's own "[rank3]:", which stands before every line


UNKNOWN = Source()


class Attribution:
    """Takes rank prefixes off lines."""

    def __init__(self) -> None:
        self._sources: dict[tuple[int | None, str], Source] = {}

    def split(self, text: str, label: int | None = None) -> tuple[Source, str]:
        """The source of a line and its text without the prefix.

        ``label`` is the task number that ``srun -l`` put before the text, None where there is none. The
        innermost prefix that gives a global rank decides. A local rank (``[default3]:``) counts as the global
        one, which is right on a single node; behind an srun label, which then numbers nodes, it does not.
        """
        if text[:1] != "[":
            return (UNKNOWN, text) if label is None else (self._source(label, ""), text)
        end = 0
        while found := _PREFIX.match(text, end):
            end = found.end()
        prefix = text[:end]
        return self._source(label, prefix), text[end:]

    def _source(self, label: int | None, prefix: str) -> Source:
        if not prefix and label is None:
            return UNKNOWN
        known = self._sources.get((label, prefix))
        if known is None:
            known = _read(label, prefix)
            if len(self._sources) < _KNOWN_SOURCES:
                self._sources[label, prefix] = known
        return known


def _read(label: int | None, prefix: str) -> Source:
    rank = label
    names = [] if label is None else [str(label)]
    by_torch = False
    for found in _PREFIX.finditer(prefix):
        local, local_rank, torch, torch_rank, _, megatron_rank = found.groups()
        if local:
            rank = None if label is not None else int(local_rank)
            names.append(f"default{local_rank}")
        elif torch:
            rank = int(torch_rank)
            names.append(f"rank{torch_rank}")
        else:
            rank = int(megatron_rank)
        by_torch = bool(torch)
    return Source(rank, "/".join(names), by_torch)
