"""Names of other modules whose meaning is known."""

from __future__ import annotations

from typing import Final

CONTAINER: Final = "ConfigContainer"

COMPLETE: Final = frozenset(
    {
        CONTAINER,
        "CheckpointConfig",
        "CommOverlapConfig",
        "DistributedDataParallelConfig",
        "DistributedInitConfig",
        "GPTDatasetConfig",
        "GPTModelProvider",
        "LoggerConfig",
        "MixedPrecisionConfig",
        "OptimizerConfig",
        "ProfilingConfig",
        "RNGConfig",
        "RerunStateMachineConfig",
        "SchedulerConfig",
        "TokenizerConfig",
        "TrainingConfig",
        "ValidationConfig",
    }
)
"""Classes whose fields have the release's default unless the call says otherwise. Of other classes, fields
that the call does not name are unknown: a model provider sets dozens of its own."""

DTYPES: Final = frozenset(
    f"torch.{name}"
    for name in [
        "float32",
        "float",
        "float16",
        "half",
        "bfloat16",
        "float64",
        "double",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "long",
        "int",
        "bool",
        "float8_e4m3fn",
        "float8_e5m2",
    ]
)

LEAVES_ALONE: Final = frozenset(
    {
        # Python
        *(
            "print",
            "len",
            "isinstance",
            "issubclass",
            "hasattr",
            "type",
            "id",
            "repr",
            "str",
            "bool",
            "int",
            "float",
        ),
        *(
            "dir",
            "vars",
            "callable",
            "hash",
            "format",
            "asdict",
            "fields",
            "is_dataclass",
            "dumps",
            "pformat",
            "pprint",
        ),
        *("debug", "info", "warning", "error", "critical", "exception", "log", "print_rank_0", "warn"),
        # Bridge: what reads a configuration, or lays the command line on it, which is a layer of its own
        *("pretrain", "finetune", "validate", "print_yaml", "to_yaml", "to_dict", "get_data_parallel_size"),
        *("process_config_with_overrides", "create_omegaconf_dict_config", "parse_hydra_overrides"),
        *("apply_overrides", "set_cli_overrides"),
    }
)
"""Functions that do not change what they are given."""

THE_RUN: Final = ("megatron.bridge.training.", "megatron.core.", "megatron.training.")
"""Where the functions are that a configuration is handed to when it is finished."""

CHANGES: Final = ("apply", "set_", "enable", "disable", "configure", "update", "override", "modify", "patch")
"""How the names of functions begin that change what they are given."""

RETURNS_ITS_CONFIG: Final = frozenset({"process_config_with_overrides", "set_cli_overrides"})
"""Functions that return their first argument, with the command line laid on it."""
