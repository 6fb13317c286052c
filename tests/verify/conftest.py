"""Bundles whose program has a planted fault."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.bundle.locate import find_bundle
from mbridge_skills.card.load import load_card
from mbridge_skills.card.model import Card

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


SMOKE_LOG = TESTS / "criteria" / "logs" / "smoke-core-0.18.2.4-microbatches.passed.log"

# Prints the file "log" beside the card, and ends with a status.
PROGRAM = (
    "import pathlib, sys; card, status = sys.argv[1:3];"
    " sys.stdout.buffer.write(pathlib.Path(card).with_name('log').read_bytes());"
    " sys.exit(int(status))"
)
CARD = """schema: card/1
name: example-skill
title: An example
summary: An example card.
level: experimental
level_reason: It is an example.
stability: alpha
validation_status:
  example_feature: {status: not_verified}
recommended_path:
  ddp.example: true
evidence: []
verify:
"""
CRITERIA: dict[str, Any] = {
    "cpu": [
        {"id": "final-loss-finite"},
        {"id": "every-iteration-finite"},
        {"id": "save-resume"},
        {"id": "parity", "tolerance": {"fp32": {"loss": 1e-5, "grad_norm": 1e-5}}},
        {"id": "clean-exit"},
    ],
    "gpu": [{"id": "final-loss-finite"}, {"id": "clean-exit"}],
    "bridge": [{"id": "pytest-passes"}, {"id": "final-loss-finite"}, {"id": "clean-exit"}],
}


@pytest.fixture
def make_card(tmp_path: Path) -> Callable[..., Card]:
    """A card with one block per tier, in this order; the program prints ``log`` and ends with ``status``."""

    def make(*tiers: str, log: Path | bytes = SMOKE_LOG, status: int = 0, **changes: Any) -> Card:
        folder = tmp_path / "example-skill"
        folder.mkdir()
        (folder / "log").write_bytes(log if isinstance(log, bytes) else log.read_bytes())
        blocks = [
            {
                "id": f"{tier}-block",
                "title": f"Tier {tier}",
                "tier": tier,
                "label": "cpu-simulated" if tier == "cpu" else "gpu",
                "command": ["{python}", "-c", PROGRAM, "{card}", str(status)],
                "needs": {"gpus": 0 if tier == "cpu" else 64, "processes": 2},
                "timeout_s": 60,
                "stall_s": 30,
                "expect": {"iterations": 4, "passes": 1},
                "criteria": CRITERIA[tier],
                **({"test": {"node_id": "tests/test_x.py::test_x"}} if tier == "bridge" else {}),
                **changes,
            }
            for tier in tiers
        ]
        for block in blocks:
            if block["tier"] == "bridge":
                block["command"][-1:] = [str(status), "{test}"]
                block["needs"]["bridge_checkout"] = True
        path = folder / "card.yaml"
        path.write_text(CARD + "".join(f"  - {json.dumps(block)}\n" for block in blocks) or "  []\n")
        return load_card(path)

    return make
