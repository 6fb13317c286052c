"""Evidence of a run: everything that is needed to trust it, or to repeat it, and no path of the machine."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from mbridge_skills import __version__, atomic
from mbridge_skills.card.model import Card
from mbridge_skills.criteria.base import CriterionResult, JudgedRun
from mbridge_skills.logs.phases import PhaseSeries
from mbridge_skills.verify import machine
from mbridge_skills.verify.plan import Plan
from mbridge_skills.verify.report import Status

FORMAT = "mbridge-skills-evidence/1"
_PACKAGES = (
    "torch",
    "megatron-core",
    "megatron-bridge",
    "transformer-engine",
    "nvidia-resiliency-ext",
    "einops",
    "numpy",
)


def collect(
    card: Card,
    planned: Plan,
    run: JudgedRun,
    criteria: tuple[CriterionResult, ...],
    status: Status,
    begun: datetime,
) -> dict[str, Any]:
    """The evidence of a run, as JSON data. Times are UTC, durations seconds.

    The label is what the program itself states about its device; a program that states none was run by the
    block's own word.
    """
    block, log = planned.block, run.log
    stated: Mapping[str, Any] = log.environment or {}
    record = {
        "format": FORMAT,
        "id": f"{block.id}-{begun:%Y%m%dT%H%M%SZ}",
        "skill": card.name,
        "block": block.id,
        "tier": block.tier,
        "label": stated.get("label", block.label),
        "verdict": str(status),
        "date": begun.isoformat(timespec="seconds"),
        "seconds": round(run.outcome.seconds, 1) if run.outcome else None,
        "command": list(planned.template),
        "environment": dict(planned.environment),
        "versions": _versions(stated, planned),
        "hardware": _hardware(stated),
        "run": {
            key: stated[key]
            for key in ("settings", "deviations", "options", "backend", "world_size", "data_parallel_size")
            if key in stated
        },
        "ended": {"how": run.outcome.ended, "exit_code": run.outcome.exit_code} if run.outcome else None,
        "criteria": [criterion_record(result) for result in criteria],
        "series": {name or "training": _series(series) for name, series in log.phases.items()},
        "log": {"lines": log.lines, "bytes": log.bytes},
        "tool": {"mbridge-skills": __version__, "card": _digest(card.path)},
        "git": _git_state(card.path),
        "notes": list(planned.notes),
    }
    found: dict[str, Any] = _without_places(record, _places(card, planned))
    return found


def criterion_record(result: CriterionResult) -> dict[str, Any]:
    """A criterion's result as JSON data."""
    judgement = result.judgement
    return {
        "id": result.id,
        "title": result.title,
        "required": result.required,
        "verdict": str(judgement.verdict),
        "value": judgement.value,
        "limit": judgement.limit,
        "detail": judgement.detail,
    }


def write(path: Path, record: Mapping[str, Any]) -> None:
    """Write evidence to ``path`` in one step."""
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    # A lone surrogate, which a log may name, has no UTF-8; JSON has an escape for it.
    atomic.write_text(path, text.encode("utf-8", "backslashreplace").decode("utf-8"))


def block_of(path: Path) -> str | None:
    """The block whose evidence the file is; None where it is no evidence file."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return None
    return str(record.get("block"))


def _versions(stated: Mapping[str, Any], planned: Plan) -> dict[str, str]:
    """What the program saw counts; what is installed where it ran fills the rest."""
    if planned.interpreter == ("{python}",):
        found = {name: version for name in _PACKAGES if (version := machine.installed_version(name))}
        found = {"python": platform.python_version(), **found}
    else:
        found = machine.versions_in(planned.interpreter, planned.folder, _PACKAGES)
    return {**found, **stated.get("versions", {})}


def _hardware(stated: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "device": stated.get("device"),
        "gpus_visible": machine.visible_gpus(),
        "gpu_names": machine.gpu_names(),
        "cpu": platform.machine(),
        "cpu_cores": os.cpu_count(),
        "system": platform.system(),
    }


def _series(series: PhaseSeries) -> list[list[float | int | None]]:
    """[iteration, loss, grad norm] for each record kept; nan and inf, which JSON has not, become text."""
    return [[record.iteration, _number(record.loss), _number(record.grad_norm)] for record in series.records]


def _number(value: float | None) -> Any:
    if value is None or value - value == 0:
        return value
    return str(value)


def _places(card: Card, planned: Plan) -> list[tuple[re.Pattern[str], str]]:
    """What to write for the folders of this machine, which failure texts and last lines may name."""
    named = {
        str(Path(tempfile.gettempdir()).resolve()): "{tmp}",
        tempfile.gettempdir(): "{tmp}",
        os.path.expanduser("~"): "~",  # noqa: PTH111 - Path.home() raises where there is none
        sys.prefix: "{environment}",
        str(card.path.resolve().parent): "{skill}",
    }
    if planned.folder is not None:
        named[str(planned.folder)] = "{checkout}"
    return [
        (re.compile(rf"(?<![\w./-]){re.escape(place)}(?![\w-])"), name)
        for place, name in sorted(named.items(), key=lambda item: len(item[0]), reverse=True)
        if len(place) > 1 and place != "~"
    ]


def _without_places(value: Any, places: list[tuple[re.Pattern[str], str]]) -> Any:
    if isinstance(value, str):
        for place, name in places:
            value = place.sub(name, value)
        return value
    if isinstance(value, Mapping):
        return {key: _without_places(entry, places) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_places(entry, places) for entry in value]
    return value


def _digest(path: Path) -> str:
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _git_state(card: Path) -> dict[str, Any] | None:
    """Commit and cleanness of the repository that holds the card.

    None where none does: a card in an ignored folder, such as a virtual environment, is not part of one.
    """

    folder = str(card.parent)

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", folder, *words], capture_output=True, text=True, timeout=10, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    if not commit or git("ls-files", "--error-unmatch", "--", card.name) is None:
        return None
    return {"commit": commit, "clean": git("status", "--porcelain", "--untracked-files=no") == ""}
