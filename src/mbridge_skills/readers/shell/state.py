"""Variables, functions and the environment of a script while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mbridge_skills.readers.shell.text import Mark, Text, hole

if TYPE_CHECKING:
    from tree_sitter import Node

    from mbridge_skills.readers.shell.script import Script

Value = Text | list[Text]


@dataclass(frozen=True)
class Launch:
    """A command that starts a program, with its variables."""

    words: tuple[Text, ...]
    environment: dict[str, Text | None]
    mark: Mark
    slurm: dict[str, Text]


@dataclass
class State:
    """``variables`` holds what the script assigned; None is unset by it."""

    variables: dict[str, Value | None] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    functions: dict[str, tuple[Script, Node]] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)
    slurm: dict[str, Text] = field(default_factory=dict)
    arguments: list[Text] | None = None  # of the function that runs
    outer: tuple[Text, ...] = ()  # what starts the shell that runs, for instance srun and its options

    def copy(self) -> State:
        """A copy for a branch."""
        return State(
            dict(self.variables),
            set(self.exported),
            dict(self.functions),
            list(self.launches),
            self.slurm,
            self.arguments,
            self.outer,
        )

    def environment(self) -> dict[str, Text | None]:
        """The environment that a command gets, as far as the script decides it."""
        result: dict[str, Text | None] = {}
        for name, value in self.variables.items():
            if value is None:
                result[name] = None
            elif name in self.exported and isinstance(value, Text):
                result[name] = value
        return result

    def same(self, other: State) -> bool:
        """Whether nothing that matters differs."""
        return (
            self.exported == other.exported
            and self.variables.keys() == other.variables.keys()
            and all(_same(value, other.variables[name]) for name, value in self.variables.items())
            and len(self.launches) == len(other.launches)
            and all(
                a is b or [word.value for word in a.words] == [word.value for word in b.words]
                for a, b in zip(self.launches, other.launches, strict=True)
            )
        )

    def forget(self) -> None:
        """Any variable may have changed."""
        for name, value in self.variables.items():
            self.variables[name] = [hole(Mark(1, 1))] if isinstance(value, list) else hole(Mark(1, 1))

    def merge(self, other: State) -> None:
        """Become what follows when either this or ``other`` happened."""
        for name in {**self.variables, **other.variables}:
            ours, theirs = self.variables.get(name), other.variables.get(name)
            if _same(ours, theirs) and (name in self.variables) == (name in other.variables):
                continue
            self.variables[name] = (
                [hole(Mark(1, 1))] if isinstance(ours or theirs, list) else hole(Mark(1, 1))
            )
        self.exported |= other.exported
        self.launches += [
            launch for launch in other.launches if not any(launch is own for own in self.launches)
        ]


def _same(a: Value | None, b: Value | None) -> bool:
    return a is b or _plain(a) == _plain(b)


def _plain(value: Value | None) -> Any:
    if isinstance(value, list):
        return [(item.value, item.certain) for item in value]
    return None if value is None else (value.value, value.certain)
