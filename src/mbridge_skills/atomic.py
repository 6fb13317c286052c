"""Writing a file so that a reader, or a crash, only ever sees the old text or the whole new one."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Replace ``path`` with ``text`` (UTF-8) in one step; see :func:`write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Replace ``path`` with ``data`` in one step, keeping its mode; parents are created.

    On Linux the new content is written to an unnamed file and gets a name only once it is complete and on
    disk, so that not even a process killed in the middle leaves a half-written file behind.

    Raises:
        OSError: the folder is not writable or the disk is full; ``path`` is then untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path.resolve()  # a link keeps pointing at the file it names
    staged = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    mode = _mode_of(target)
    try:
        if not _stage_unnamed(staged, data, mode):
            _stage_named(staged, data, mode)
        staged.replace(target)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise


def _mode_of(target: Path) -> int | None:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return None


def _stage_unnamed(staged: Path, data: bytes, mode: int | None) -> bool:
    """Write an O_TMPFILE and link it as ``staged``; False where the system or file system has none."""
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return False
    try:
        descriptor = os.open(staged.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (OSError, ValueError):
        return False
    try:
        _fill(descriptor, data, mode)
        try:
            os.link(f"/proc/self/fd/{descriptor}", staged, follow_symlinks=True)
        except OSError:
            return False
        return True
    finally:
        os.close(descriptor)


def _stage_named(staged: Path, data: bytes, mode: int | None) -> None:
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        _fill(descriptor, data, mode)
    finally:
        os.close(descriptor)


def _fill(descriptor: int, data: bytes, mode: int | None) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    if mode is not None:
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, mode)
    os.fsync(descriptor)
