"""YAML files: Megatron-Bridge's or Megatron-LM's, told apart by what is in them."""

from __future__ import annotations

from pathlib import Path

from mbridge_skills.config.view import TrainingConfig
from mbridge_skills.readers import bridge_yaml, megatron_yaml
from mbridge_skills.readers.yaml_nodes import parse_yaml


def read_yaml(text: str, path: Path | None = None) -> list[TrainingConfig]:
    """The configurations in ``text``; none where it holds something else.

    Raises:
        InputError: not valid YAML.
    """
    configs: list[TrainingConfig] = []
    base = path.stem if path else "YAML"
    for document in parse_yaml(text, path):
        if bridge_yaml.is_bridge(document):
            configs.append(bridge_yaml.read_document(document, base, path))
            continue
        environment = (document.entries or {}).get("ENV_VARS")
        for key, section in megatron_yaml.find_sections(document):
            name = f"{base}:{key}" if key else base
            configs.append(megatron_yaml.read_section(section, name, path, environment))
    return configs
