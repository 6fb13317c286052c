"""Bundles whose program has a planted fault."""

import re
import shutil
from pathlib import Path

import pytest

from mbridge_skills.bundle.locate import find_bundle

TESTS = Path(__file__).parents[1]
SKILL = "nemo-mbridge-perf-megatron-fsdp"


@pytest.fixture
def make_bundle(tmp_path):
    """Make a copy of the bundle whose blocks run ``tests/planted/NAME.py`` for the smoke program."""

    def make(program: str | None = None) -> Path:
        root = tmp_path / "bundle"
        shutil.copytree(find_bundle(None).root / "skills", root / "skills")
        shutil.copy(find_bundle(None).root / "card.yaml", root / "card.yaml")
        if program:
            card = root / "skills" / SKILL / "card.yaml"
            text = card.read_text()
            planted = str(TESTS / "planted" / f"{program}.py")
            pattern = re.compile(r"- -m\n +- mbridge_skills\.smoke$", re.MULTILINE)
            text, count = pattern.subn(f"- {planted}", text)
            assert count, "the card's command no longer has the form that is replaced here"
            card.write_text(text)
        return root

    return make
