from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

BUNDLE = """schema: bundle/1
name: example-bundle
summary: An example.
skills:
{skills}
"""
ENTRY = """  - name: {name}
    level: experimental
    stability: alpha
    last_validation: null"""
CARD = """schema: card/1
name: {name}
title: An example
summary: An example card.
level: experimental
level_reason: It is an example.
stability: alpha
validation_status:
  example_feature: {{status: not_verified}}
recommended_path:
  ddp.example: true
verify: []
evidence: []
"""


@pytest.fixture
def make_bundle() -> Callable[..., Path]:
    """Write a bundle with the named skills under a folder."""

    def make(root: Path, *names: str) -> Path:
        entries = "\n".join(ENTRY.format(name=name) for name in names) or "  []"
        (root / "skills").mkdir(parents=True)
        (root / "card.yaml").write_text(BUNDLE.format(skills=entries))
        for name in names:
            folder = root / "skills" / name
            folder.mkdir()
            (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: An example.\n---\nText.\n")
            (folder / "card.yaml").write_text(CARD.format(name=name))
        return root

    return make
