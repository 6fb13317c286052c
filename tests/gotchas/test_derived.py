from __future__ import annotations

from typing import Any

import pytest

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.gotchas.derived import derived_names
from mbridge_skills.releases.table import is_path

SIZES = {
    "world_size": 16,
    "model.tensor_model_parallel_size": 2,
    "model.pipeline_model_parallel_size": 1,
    "model.context_parallel_size": 2,
    "model.expert_model_parallel_size": 4,
    "model.expert_tensor_parallel_size": None,
    "train.global_batch_size": 32,
    "train.micro_batch_size": 2,
}


def value_of(name: str, values: dict[str, Any], bridge_is_new: bool = True) -> Any:
    return derived_names()[name].evaluator(lambda distribution, specifier: bridge_is_new)(values)


@pytest.mark.parametrize(
    ("name", "changed", "expected"),
    [
        ("model_parallel_size", {}, 4),
        ("data_parallel_size", {}, 4),
        ("data_parallel_size", {"world_size": 2}, 0),
        ("data_parallel_size", {"world_size": UNKNOWN}, UNKNOWN),
        ("expert_tensor_parallel_size", {}, 1),
        ("expert_tensor_parallel_size", {"model.expert_tensor_parallel_size": 2}, 2),
        ("expert_tensor_parallel_size", {"model.expert_model_parallel_size": 1}, 2),
        ("expert_data_parallel_size", {}, 4),
        ("num_microbatches", {}, 4),
        ("num_microbatches", {"train.micro_batch_size": None}, UNKNOWN),
        ("num_microbatches", {"world_size": 2}, UNKNOWN),
    ],
)
def test_sizes(name: str, changed: dict[str, Any], expected: Any) -> None:
    assert value_of(name, {**SIZES, **changed}) == expected


def test_experts_are_split_by_tensor_rank_before_bridge_06() -> None:
    assert value_of("expert_tensor_parallel_size", SIZES, bridge_is_new=False) == 2


@pytest.mark.parametrize(
    ("implementation", "scope", "modules", "expected"),
    [
        ("full_iteration", None, None, True),
        ("local", "full_iteration", None, True),
        ("local", ["full_iteration"], None, True),
        ("local", None, ["full_iteration"], True),
        ("local", None, "full", False),
        ("transformer_engine", "full_iteration", None, False),
        ("none", "full_iteration", None, False),
    ],
)
def test_full_iteration_graph(implementation: str, scope: Any, modules: Any, expected: bool) -> None:
    values = {
        "model.cuda_graph_impl": implementation,
        "model.cuda_graph_scope": scope,
        "model.cuda_graph_modules": modules,
    }
    assert bool(value_of("full_iteration_graph", values)) is expected


def test_every_path_exists() -> None:
    for name, expression in derived_names().items():
        assert all(is_path(path) for path in expression.paths), name
