from __future__ import annotations

from pathlib import Path

import pytest

from mbridge_skills.errors import InputError
from mbridge_skills.releases import detect
from mbridge_skills.releases.detect import find_stack
from mbridge_skills.releases.table import NEWEST

LOCK = """
[[package]]
name = "megatron-bridge"
version = "0.5.1"

[[package]]
name = "transformer-engine"
version = "2.9.0"

[[package]]
name = "numpy"
version = "2.0.0"
"""


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "_installed", dict)


def test_option_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(detect, "_installed", lambda: {"megatron-bridge": "0.4.2"})
    stack = find_stack("0.3.1", None, tmp_path)
    assert (stack.release.bridge, stack.release.core, stack.source) == ("0.3.1", "0.16.1", "option")


def test_installed_before_lock_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(LOCK)
    installed = {"megatron-bridge": "0.4.2", "megatron-core": "0.17.0", "torch": "2.9.0"}
    monkeypatch.setattr(detect, "_installed", lambda: installed)
    stack = find_stack(None, None, tmp_path)
    assert (stack.release.bridge, stack.release.core, stack.source) == ("0.4.2", "0.17.0", "installed")
    assert stack.others == {"torch": "2.9.0"}


@pytest.mark.usefixtures("nothing_installed")
def test_lock_file_above(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(LOCK)
    inside = tmp_path / "recipes"
    inside.mkdir()
    stack = find_stack(None, None, inside)
    assert (stack.release.bridge, stack.release.core) == ("0.5.1", "0.18.2")
    assert stack.others == {"transformer-engine": "2.9.0"}
    assert not stack.assumed


@pytest.mark.usefixtures("nothing_installed")
def test_newest_is_assumed(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text("[[package]]\nname = 'numpy'\nversion = '2'\n")
    stack = find_stack(None, "0.19.0", tmp_path)
    assert (stack.release.bridge, stack.release.core, stack.assumed) == (NEWEST, "0.19.0", True)


@pytest.mark.usefixtures("nothing_installed")
def test_broken_lock_file(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text("[[package\n")
    with pytest.raises(InputError, match="lock file cannot be read"):
        find_stack(None, None, tmp_path)
