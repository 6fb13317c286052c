"""Judging many flat configurations: one JSON record per line in, one per line out."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path
from typing import IO, Any

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.errors import InputError, Location
from mbridge_skills.gotchas.expression import ENVIRONMENT
from mbridge_skills.gotchas.gotcha import Finding
from mbridge_skills.gotchas.judge import Judge, Judgement


@dataclass(frozen=True)
class Surroundings:
    """What holds for a record that does not say otherwise."""

    world_size: int | None = None
    device_capability: tuple[int, int] | None = None
    environment: Mapping[str, str | None] = field(default_factory=dict)


class Batch:
    """A judge for records ``{"id", "config": {path: value}, "world_size", "device_cc", "env": {NAME:
    value}}``.

    Only ``config`` is required. A path that a record does not set has its default or the reference model's
    value, a variable that it does not name is unset.
    """

    def __init__(self, judge: Judge, surroundings: Surroundings | None = None) -> None:
        self._judge = judge
        around = surroundings or Surroundings()
        self._base = dict(judge.unset)
        self._base |= {name: None for name in judge.unset if name.startswith(ENVIRONMENT)}
        self._base |= {ENVIRONMENT + name: value for name, value in around.environment.items()}
        self._base["world_size"] = UNKNOWN if around.world_size is None else around.world_size
        capability = around.device_capability
        self._base["device_capability"] = UNKNOWN if capability is None else capability
        self._texts: dict[int, tuple[Judgement, str]] = {}

    def judge(self, record: Mapping[str, Any]) -> Judgement:
        """Judge one record.

        Raises:
            ValueError: it is no such record.
        """
        config = record.get("config")
        if not isinstance(config, dict):
            raise ValueError('expected an object under "config"')
        values = {**self._base, **config}
        # The reference model's builder sets both together (upstream: create_fsdp_model_config).
        if config.get("model.bf16") and "model.pipeline_dtype" not in config:
            values["model.pipeline_dtype"] = "torch.bfloat16"
        world_size = record.get("world_size")
        if world_size is not None:
            if type(world_size) is not int:
                raise ValueError('expected a whole number under "world_size"')
            values["world_size"] = world_size
        capability = record.get("device_cc")
        if capability is not None:
            values["device_capability"] = _CAPABILITIES.get(capability) or parse_capability(capability)
        environment = record.get("env")
        if environment is not None:
            if not isinstance(environment, dict):
                raise ValueError('expected an object under "env"')
            for name, value in environment.items():
                values[ENVIRONMENT + name] = value
        return self._judge.judge_values(values)

    def results(self, path: Path) -> Iterator[tuple[Any, Judgement]]:
        """Each record's id and judgement, for the file at ``path``, which may be compressed with gzip.

        Raises:
            InputError: the file cannot be read, or a line is no record; it names the line.
        """
        number = 0
        try:
            with _opened(path) as stream:
                for text in stream:
                    number += 1
                    if not text.isspace():
                        record = json.loads(text)
                        if not isinstance(record, dict):
                            raise ValueError("expected an object")
                        yield record.get("id"), self.judge(record)
        except (OSError, EOFError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot be read: {reason}", where=Location(path)) from None
        except ValueError as error:  # bad JSON and bad UTF-8 are such too
            raise InputError(f"not a record: {error}", where=Location(path, number)) from None

    def line(self, identity: Any, judgement: Judgement) -> str:
        """One result as a line of JSON, without a line break."""
        known = self._texts.get(id(judgement))
        if known is not None and known[0] is judgement:
            text = known[1]
        else:
            data = [as_data(finding) for finding in judgement.findings]
            text = f'"verdict": "{judgement.verdict}", "findings": {json.dumps(data, ensure_ascii=False)}'
            if len(self._texts) < _MAX_TEXTS:
                self._texts[id(judgement)] = (judgement, text)
        name = quoted(identity) if isinstance(identity, str) else json.dumps(identity)
        return f'{{"id": {name}, {text}}}'


_MAX_TEXTS = 10_000
_CAPABILITIES: dict[Any, tuple[int, int]] = {
    "8.0": (8, 0),
    "8.6": (8, 6),
    "8.9": (8, 9),
    "9.0": (9, 0),
    "10.0": (10, 0),
    "10.3": (10, 3),
    "12.0": (12, 0),
}


def parse_capability(value: Any) -> tuple[int, int]:
    """A compute capability: "9.0", 9.0 or [9, 0].

    Raises:
        ValueError: it is none.
    """
    parts = value if isinstance(value, list) else str(value).split(".")
    try:
        major, minor = (int(part) for part in parts)
    except (TypeError, ValueError):
        raise ValueError(f'expected a compute capability like "9.0", got {value!r}') from None
    return major, minor


def as_data(finding: Finding) -> dict[str, Any]:
    """A finding for programs. ``becomes`` is there where upstream changes settings silently."""
    data: dict[str, Any] = {
        "code": finding.code,
        "severity": finding.gotcha.severity,
        "phase": finding.gotcha.phase,
        "exception": finding.exception,
        "message": finding.message,
    }
    if finding.becomes:
        data["becomes"] = {
            path: None if value is UNKNOWN else value for path, value in finding.becomes.items()
        }
    return data


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")
