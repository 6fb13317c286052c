from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mbridge_skills import atomic


@pytest.fixture(params=["unnamed", "named"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With an unnamed file first, and as on a system that has none."""
    if request.param == "named":
        monkeypatch.setattr(atomic, "_open_unnamed", lambda *_: None)
    return str(request.param)


@pytest.mark.usefixtures("way")
class TestBothWays:
    def test_new_file_and_folders(self, tmp_path: Path) -> None:
        path = tmp_path / "a" / "b" / "file.txt"
        atomic.write_text(path, "é\r\nx")
        assert path.read_bytes() == "é\r\nx".encode()
        assert list(path.parent.iterdir()) == [path]

    def test_replaces(self, tmp_path: Path) -> None:
        path = tmp_path / "file.txt"
        path.write_text("a longer text than the new one")
        atomic.write_text(path, "new")
        assert path.read_text() == "new"
        assert list(tmp_path.iterdir()) == [path]

    def test_keeps_the_mode(self, tmp_path: Path) -> None:
        path = tmp_path / "file.txt"
        path.write_text("old")
        path.chmod(0o640)
        atomic.write_text(path, "new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_new_file_obeys_the_umask(self, tmp_path: Path) -> None:
        path = tmp_path / "file.txt"
        before = os.umask(0o027)
        try:
            atomic.write_text(path, "new")
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_link_stays_a_link(self, tmp_path: Path) -> None:
        target, link = tmp_path / "target.txt", tmp_path / "link.txt"
        target.write_text("old")
        link.symlink_to(target)
        atomic.write_text(link, "new")
        assert link.is_symlink()
        assert target.read_text() == "new"

    def test_failure_leaves_the_old_text(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        path = tmp_path / "file.txt"
        path.write_text("old")
        monkeypatch.setattr(atomic.os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            atomic.write_text(path, "new")
        monkeypatch.undo()
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_text_that_cannot_be_encoded_leaves_the_old_one(self, tmp_path: Path) -> None:
        path = tmp_path / "file.txt"
        path.write_text("old")
        with pytest.raises(UnicodeEncodeError):
            atomic.write_text(path, "new \ud800")
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_copy(self, tmp_path: Path) -> None:
        source, path = tmp_path / "source", tmp_path / "new" / "file"
        source.write_bytes(bytes(range(256)) * 5000)
        atomic.copy(source, path)
        assert path.read_bytes() == source.read_bytes()

    def test_copy_of_what_is_not_there(self, tmp_path: Path) -> None:
        path = tmp_path / "file.txt"
        path.write_text("old")
        with pytest.raises(FileNotFoundError):
            atomic.copy(tmp_path / "nothing", path)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_folder_in_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "file.txt").mkdir()
        with pytest.raises(OSError, match="directory"):
            atomic.write_text(tmp_path / "file.txt", "new")
        assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


def test_falls_back_where_a_link_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(atomic.os, "link", refuse)
    atomic.write_text(tmp_path / "file.txt", "new")
    assert (tmp_path / "file.txt").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


def test_nothing_has_a_name_before_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    fsync = os.fsync

    def look(descriptor: int) -> None:
        seen.append([path.name for path in tmp_path.iterdir()])
        fsync(descriptor)

    monkeypatch.setattr(atomic.os, "fsync", look)
    atomic.write_text(tmp_path / "file.txt", "new")
    assert seen == [[]]
