"""Every gotcha holds for its example, and not for what is almost the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from mbridge_skills.gotchas.gotcha import Gotcha
from mbridge_skills.gotchas.judge import Judge, Judgement
from mbridge_skills.gotchas.load import load_gotchas
from mbridge_skills.releases.table import CORE_OF_BRIDGE, REFERENCE_MODEL, release_of

SKILL = Path(__file__).parents[2] / "skills" / "nemo-mbridge-perf-megatron-fsdp"
EXAMPLES: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "examples.yaml").read_text())


@cache
def gotchas() -> dict[str, Gotcha]:
    return {gotcha.code: gotcha for gotcha in load_gotchas(SKILL)}


def judgement(code: str, releases: dict[str, str], settings: dict[str, Any]) -> Judgement:
    release = release_of(releases["megatron-bridge"], releases["megatron-core"])
    judge = Judge([gotchas()[code]], release, versions=releases, assumed=REFERENCE_MODEL)
    capability = settings.get("device_capability")
    return judge.judge_flat({**settings, **({"device_capability": tuple(capability)} if capability else {})})


def held(judged: Judgement) -> bool:
    assert not judged.undecided
    return bool(judged.findings)


@pytest.mark.parametrize("code", EXAMPLES)
def test_hit(code: str) -> None:
    judged = judgement(code, EXAMPLES[code]["releases"], EXAMPLES[code]["hit"])
    assert held(judged)
    gotcha = gotchas()[code]
    stops = gotcha.severity == "error" and gotcha.phase == "validation"
    assert judged.verdict == ("error" if stops else "ok")


NEAR = [(code, index) for code, example in EXAMPLES.items() for index in range(len(example["misses"]))]


@pytest.mark.parametrize(("code", "index"), NEAR)
def test_near_miss(code: str, index: int) -> None:
    example = EXAMPLES[code]
    changed = dict(example["misses"][index])
    releases = {**example["releases"], **changed.pop("releases", {})}
    assert not held(judgement(code, releases, {**example["hit"], **changed}))


def test_every_gotcha_has_an_example_and_two_near_misses() -> None:
    seen_in_settings = {code for code, gotcha in gotchas().items() if gotcha.when.text != "False"}
    assert EXAMPLES.keys() == seen_in_settings
    assert [code for code, example in EXAMPLES.items() if len(example["misses"]) < 2] == []


@pytest.mark.parametrize("bridge", CORE_OF_BRIDGE)
def test_what_stops_validation_says_with_which_words(bridge: str) -> None:
    release = release_of(bridge)
    for code, example in EXAMPLES.items():
        gotcha = gotchas()[code]
        judge = Judge([gotcha], release, assumed=REFERENCE_MODEL)
        for finding in judge.judge_flat(example["hit"]).findings:
            if finding.stops_validation:
                assert finding.exception, code
                assert finding.message is not None, code
