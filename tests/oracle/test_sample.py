"""Our judgements against recorded verdicts of upstream's real ``validate()``, eight releases."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mbridge_skills.releases.table import CORE_OF_BRIDGE

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("oracle_compare", HERE / "compare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_sample(compare: ModuleType) -> None:
    records = list(compare.records_of(HERE / "sample.jsonl.gz"))
    assert len(records) > 300
    assert {record["version"] for record in records} == CORE_OF_BRIDGE.keys() - {"0.4.1"}
    scores = compare.score(records)
    wrong = [
        (record["version"], record["id"], record.get("msg"), judgement.verdict)
        for one in scores.values()
        for record, judgement in one.wrong
    ]
    assert wrong == []
    for key, one in scores.items():
        assert (one.both, one.mispredicted) == (one.changed, {}), key


def test_a_wrong_judgement_is_found(compare: ModuleType) -> None:
    records = [
        record for record in compare.records_of(HERE / "sample.jsonl.gz") if record["outcome"] == "error"
    ]
    for record in records:
        record["msg"] = "another " + record["msg"]
    scores = compare.score(records)
    assert sum(one.first_errors for one in scores.values()) == 0
    assert sum(len(one.wrong) for one in scores.values()) == len(records)
