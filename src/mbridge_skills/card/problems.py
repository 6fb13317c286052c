"""What is wrong in a card, one record each: where, under which JSON pointer, and what was expected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath

from mbridge_skills.errors import InputError, Location

# A place in the data: mapping keys and list indexes, from the top level down.
DataPath = tuple[str | int, ...]


@dataclass(frozen=True)
class CardProblem:
    """One problem. ``pointer`` is a JSON pointer (RFC 6901), empty for the file as a whole."""

    where: Location
    pointer: str
    message: str

    def __str__(self) -> str:
        text = f"{self.pointer}: {self.message}" if self.pointer else self.message
        return f"{self.where}: {text}"


def json_pointer(path: DataPath) -> str:
    """``path`` as a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def in_order(problems: Iterable[CardProblem]) -> list[CardProblem]:
    """Sorted by place in the file, the same problem only once."""
    return sorted(
        dict.fromkeys(problems),
        key=lambda problem: (problem.where.line or 0, problem.where.column or 0, problem.pointer),
    )


def input_error(path: FilePath, problems: list[CardProblem], *, remedy: str | None = None) -> InputError:
    """One error that lists all ``problems`` of the file at ``path``."""
    if len(problems) == 1:
        return InputError(str(problems[0]), remedy=remedy)
    lines = [f"{path}: {len(problems)} problems", *(f"  {problem}" for problem in problems)]
    return InputError("\n".join(lines), remedy=remedy)
