"""Megatron-LM settings in YAML, as frameworks on top of Megatron keep them.

Either flat ("use_megatron_fsdp: true" beside "ckpt_format: torch_dist"), at the top or below any key, or as
arguments ("--use-megatron-fsdp: true"). Names are those of Megatron-LM's arguments.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mbridge_skills.config.view import UNKNOWN, Setting, TrainingConfig
from mbridge_skills.readers.flags import Flag, megatron_flags, megatron_keys
from mbridge_skills.readers.layer import Layer
from mbridge_skills.readers.yaml_nodes import Node

_TELLING = frozenset(
    {
        "use_megatron_fsdp",
        "use_torch_fsdp2",
        "use_custom_fsdp",
        "ckpt_format",
        "data_parallel_sharding_strategy",
        "tensor_model_parallel_size",
        "pipeline_model_parallel_size",
        "expert_model_parallel_size",
        "context_parallel_size",
        "use_distributed_optimizer",
        "overlap_grad_reduce",
        "overlap_param_gather",
        "sequence_parallel",
        "megatron_fsdp_version",
        "gradient_accumulation_fusion",
        "recompute_granularity",
        "micro_batch_size",
        "global_batch_size",
    }
)
_ENOUGH = 2


def find_sections(document: Node) -> list[tuple[str, Node]]:
    """The mappings of ``document`` that hold Megatron-LM settings, with the key that leads to each."""
    return [(key, node) for key, node in document.mappings() if _is_section(node)]


def _is_section(node: Node) -> bool:
    names = node.entries or {}
    telling = sum(1 for name, child in names.items() if name in _TELLING and child.entries is None)
    return telling >= _ENOUGH or sum(1 for name in names if name in megatron_flags()) >= _ENOUGH


def read_section(
    section: Node, name: str, path: Path | None, environment: Node | None = None
) -> TrainingConfig:
    """The view of one section. What it does not set is up to the framework, hence unknown."""
    layer = Layer(opaque={""})
    for key, node in (section.entries or {}).items():
        flag = megatron_flags().get(key) or megatron_keys().get(key)
        if flag is None or node.entries:
            continue
        value = _value(flag, key, node.value)
        if value is not _UNSET:
            for dotted in flag.paths:
                layer.set(dotted, value, node.origin)
    for key, node in ((environment.entries if environment else None) or {}).items():
        layer.environment[key] = Setting(UNKNOWN if node.value is UNKNOWN else _text(node.value), node.origin)
    return layer.build(name, path)


_UNSET: Any = object()


def _value(flag: Flag, key: str, value: Any) -> Any:
    if not key.startswith("--"):
        return value
    if flag.bare:  # the value says whether the argument is given at all
        return _UNSET if value is False else flag.value([]) if value in (True, None) else UNKNOWN
    if value is UNKNOWN or value is None:
        return UNKNOWN
    texts = [_text(item) for item in value] if isinstance(value, list) else [_text(value)]
    return flag.value(texts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
