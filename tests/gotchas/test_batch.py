from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.errors import InputError
from mbridge_skills.gotchas.batch import Batch, Surroundings, parse_capability
from mbridge_skills.gotchas.judge import Judge
from mbridge_skills.gotchas.load import load_gotchas
from mbridge_skills.releases.table import REFERENCE_MODEL, release_of

SKILL = Path(__file__).parents[2] / "skills" / "nemo-mbridge-perf-megatron-fsdp"
FSDP = {"ddp.use_megatron_fsdp": True, "dist.use_megatron_fsdp": True}


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(load_gotchas(SKILL), release_of("0.6.2"), assumed=REFERENCE_MODEL)


def results(batch: Batch, path: Path) -> list[dict[str, Any]]:
    return [json.loads(batch.line(identity, judgement)) for identity, judgement in batch.results(path)]


def test_one_line_per_record(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    records = [
        {"id": 1, "config": {"train.global_batch_size": 32}, "world_size": 8},
        {
            "id": 'a"b',
            "config": {**FSDP, "checkpoint.load": "/x", "train.global_batch_size": 8},
            "world_size": 8,
        },
        {"config": {"model.tensor_model_parallel_size": 16, "train.global_batch_size": 8}},
    ]
    path.write_text("\n\n".join(map(json.dumps, records)) + "\n")
    found = results(Batch(judge), path)
    assert [(one["id"], one["verdict"]) for one in found] == [(1, "ok"), ('a"b', "error"), (None, "unknown")]
    errors = [finding for finding in found[1]["findings"] if finding["severity"] == "error"]
    assert errors == [
        {
            "code": "MB101",
            "severity": "error",
            "phase": "validation",
            "exception": "AssertionError",
            "message": "Megatron-FSDP requires the fsdp_dtensor checkpointing format!",
        }
    ]
    changes = {path for finding in found[1]["findings"] for path in finding.get("becomes", {})}
    assert changes == {"ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"}


def test_compressed(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": 3, "config": {"train.global_batch_size": 4}, "world_size": 4}\n'))
    assert [one["verdict"] for one in results(Batch(judge), path)] == ["ok"]


def test_a_record_wins_over_its_surroundings(judge: Judge) -> None:
    around = Surroundings(world_size=8, environment={"CUDA_DEVICE_MAX_CONNECTIONS": "1"})
    batch = Batch(judge, around)
    config = {**FSDP, "train.global_batch_size": 8}
    assert batch.judge({"config": config}).verdict == "error"
    assert batch.judge({"config": config, "env": {"CUDA_DEVICE_MAX_CONNECTIONS": None}}).verdict == "ok"
    assert batch.judge({"config": config, "env": {}}).verdict == "error"
    assert batch.judge(
        {"config": config, "env": {"CUDA_DEVICE_MAX_CONNECTIONS": "8"}, "world_size": 3}
    ).verdict == ("error")


def test_the_reference_model_stands_in_for_a_model(judge: Judge) -> None:
    config = {
        "train.global_batch_size": 8,
        "model.cpu_offloading": True,
        "model.cpu_offloading_num_layers": 8,
    }
    record = {"config": config, "world_size": 1}
    assert Batch(judge).judge(record).verdict == "error"
    config["model.num_layers"] = 9
    assert Batch(judge).judge(record).verdict == "ok"


def test_a_line_is_the_same_whoever_came_before(judge: Judge) -> None:
    wide = {"config": {"model.num_moe_experts": 8, "model.ffn_hidden_size": 96, "train.global_batch_size": 8}}
    small = {
        "config": {"model.num_moe_experts": 8, "model.ffn_hidden_size": 64, "train.global_batch_size": 8}
    }
    batch = Batch(judge, Surroundings(world_size=1))
    lines = [batch.line(0, batch.judge(record)) for record in (wide, small, wide)]
    assert lines[0] == lines[2] != lines[1]
    assert lines[1] == Batch(judge, Surroundings(world_size=1)).line(0, batch.judge(small))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not a record"),
        ("[]", "expected an object"),
        ("{}", 'expected an object under "config"'),
        ('{"config": []}', 'expected an object under "config"'),
        ('{"config": {}, "world_size": "8"}', "whole number"),
        ('{"config": {}, "world_size": true}', "whole number"),
        ('{"config": {}, "device_cc": "new"}', "compute capability"),
        ('{"config": {}, "env": []}', 'an object under "env"'),
        ("\xff", "not a record"),
    ],
)
def test_a_bad_line_is_named(judge: Judge, tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"config": {}}\n' + line.encode("latin-1") + b"\n")
    with pytest.raises(InputError, match=said) as caught:
        list(Batch(judge).results(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["missing.jsonl", "missing.jsonl.gz", "plain.jsonl.gz"])
def test_a_file_that_cannot_be_read(judge: Judge, tmp_path: Path, name: str) -> None:
    (tmp_path / "plain.jsonl.gz").write_text("{}\n")
    with pytest.raises(InputError, match="cannot be read"):
        list(Batch(judge).results(tmp_path / name))


@pytest.mark.parametrize("value", ["9.0", 9.0, [9, 0]])
def test_capability(value: Any) -> None:
    assert parse_capability(value) == (9, 0)
