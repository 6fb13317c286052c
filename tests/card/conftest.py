from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent / "examples"


@pytest.fixture
def minimal_text() -> str:
    """The smallest valid card."""
    return (EXAMPLES / "strict/positive/minimal.yaml").read_text(encoding="utf-8")


@pytest.fixture
def full_text() -> str:
    """A valid card with every key."""
    return (EXAMPLES / "strict/positive/full.yaml").read_text(encoding="utf-8")


@pytest.fixture
def write_card(tmp_path: Path) -> Callable[[str], Path]:
    """Write a card's text, byte for byte, where its name says that it lies."""

    def write(text: str, folder: str = "example-skill") -> Path:
        path = tmp_path / folder / "card.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        return path

    return write


@pytest.fixture
def run() -> dict[str, Any]:
    """A passed run of the examples' block."""
    return {
        "date": "2026-12-02",
        "block": "smoke",
        "tier": "cpu",
        "label": "cpu-simulated",
        "verdict": "passed",
        "versions": {"torch": "2.13", "megatron-core": "0.18.2"},
        "command": ["python", "-m", "example", "--text=a: b # c"],
        "report": "evidence/two.json",
    }
