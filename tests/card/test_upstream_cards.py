"""All skill cards of Megatron-Bridge pass the compat profile.

The tests are there only where MBRIDGE_UPSTREAM names a checkout or a bare repository of Megatron-Bridge.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

UPSTREAM = os.environ.get("MBRIDGE_UPSTREAM")


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _cards(root: Path) -> dict[str, str]:
    """Path in the repository -> text: from the files of a checkout, else from a bare repository's HEAD."""
    if (root / "skills").is_dir():
        paths = sorted(root.glob("skills/*/card.yaml"))
        return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths}
    names = _git(root, "ls-tree", "-r", "HEAD", "--name-only", "skills/").splitlines()
    return {name: _git(root, "show", f"HEAD:{name}") for name in names if name.endswith("/card.yaml")}


if UPSTREAM:
    import pytest

    from mbridge_skills.card.reader import parse_document
    from mbridge_skills.card.validate import problems_of

    CARDS = _cards(Path(UPSTREAM))

    def test_there_are_cards() -> None:
        assert len(CARDS) >= 18

    @pytest.mark.parametrize("name", CARDS)
    def test_upstream_card_is_valid(name: str) -> None:
        assert problems_of(parse_document(CARDS[name], Path(name)), "compat") == []
