"""Writing a file so that a reader, or a crash, only ever sees the old content or the whole new one.

On Linux the new content goes to an unnamed file, which gets a name only once it is complete and on disk: not
even a process killed in the middle leaves a half-written file behind. Elsewhere it goes to a hidden file
beside the target.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def write_text(path: Path, text: str) -> None:
    """Replace ``path`` with ``text`` (UTF-8) in one step, keeping its mode; parents are created.

    Raises:
        OSError: the folder is not writable or the disk is full; ``path`` is then untouched.
    """
    with _replacing(path) as file:
        file.write(text.encode("utf-8"))


def copy(source: Path, path: Path) -> None:
    """Replace ``path`` with the content of ``source`` in one step, keeping its mode; parents are created.

    Raises:
        OSError: as :func:`write_text`, or ``source`` cannot be read.
    """
    with source.open("rb") as content, _replacing(path) as file:
        shutil.copyfileobj(content, file)


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to fill; it takes the place of ``path`` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path.resolve()  # a link keeps pointing at the file it names
    staged = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    unnamed = _open_unnamed(target.parent)
    try:
        with os.fdopen(unnamed, "w+b") if unnamed is not None else staged.open("xb") as file:
            yield file
            file.flush()
            _settle(file, target)
            if unnamed is not None and not _name(file, staged):
                with staged.open("xb") as named:
                    file.seek(0)
                    shutil.copyfileobj(file, named)
                    named.flush()
                    _settle(named, target)
        staged.replace(target)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise


def _settle(file: BinaryIO, target: Path) -> None:
    """Bring content and mode to the disk."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
    os.fsync(file.fileno())


def _name(file: BinaryIO, path: Path) -> bool:
    """Give an unnamed file a name; False where the system does not allow it."""
    folder = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Only with a folder descriptor does os.link follow the symbolic link to the open file.
        os.link(str(file.fileno()), path, src_dir_fd=folder, follow_symlinks=True)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def _open_unnamed(folder: Path) -> int | None:
    """A new file without a name on the file system of ``folder``; None where there is no such thing."""
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:
        return None
