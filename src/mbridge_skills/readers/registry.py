"""Which reader reads which file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from mbridge_skills.card.reader import read_bytes_as_text
from mbridge_skills.config.view import TrainingConfig
from mbridge_skills.errors import InputError, Location

ReadText = Callable[[str, "Path | None"], list[TrainingConfig]]


@dataclass(frozen=True)
class Reader:
    """A kind of source. ``suffixes`` are those of its files; a kind without any is given as text only."""

    kind: str
    module: str
    function: str
    suffixes: tuple[str, ...] = ()

    def read(self, text: str, path: Path | None = None) -> list[TrainingConfig]:
        """The configurations in ``text``; ``path`` is where it is from.

        Raises:
            InputError: ``text`` is not of this kind.
        """
        function: ReadText = getattr(import_module(f"{__package__}.{self.module}"), self.function)
        return function(text, path)


READERS: dict[str, Reader] = {
    reader.kind: reader
    for reader in (
        Reader("python", "python", "read_python", (".py",)),
        Reader("shell", "shell", "read_shell", (".sh", ".bash", ".sbatch", ".slurm", ".sub")),
        Reader("yaml", "yaml_file", "read_yaml", (".yaml", ".yml")),
        Reader("overrides", "overrides", "read_overrides"),
        Reader("arguments", "arguments", "read_arguments", (".args",)),
    )
}
"""By kind. Modules are imported when they are first needed."""


def kind_of(path: Path) -> str | None:
    """The kind of the file at ``path`` by its name, or by its first line where the name says nothing."""
    suffix = path.suffix.lower()
    for reader in READERS.values():
        if suffix in reader.suffixes:
            return reader.kind
    if suffix:
        return None
    try:
        with path.open("rb") as file:
            first = file.readline(200)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    if b"python" in first:
        return "python"
    return "shell" if b"sh" in first else None


def read_text(kind: str, text: str, path: Path | None = None) -> list[TrainingConfig]:
    """The configurations in ``text``, which is of ``kind``.

    Raises:
        InputError: no such kind, or ``text`` is not of it.
    """
    if kind not in READERS:
        raise InputError(f"no reader for {kind!r}", remedy=f"one of {', '.join(READERS)}")
    return READERS[kind].read(text, path)


def read(path: Path) -> list[TrainingConfig]:
    """The configurations in the file at ``path``; none where it has no settings.

    Raises:
        InputError: the file cannot be read or parsed, or is of no known kind.
    """
    text = read_bytes_as_text(path)
    kind = kind_of(path)
    if kind is None or kind not in READERS:
        raise InputError("not a file that settings are read from", where=Location(path))
    return read_text(kind, text, path)
