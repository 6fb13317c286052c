"""Success criteria: one file each. A new criterion is a new module here, named in ``_MODULES``, and its id
in the card's schema."""

from __future__ import annotations

import importlib

from mbridge_skills.criteria.base import Criterion, CriterionResult, JudgedRun, Verdict

_MODULES = {
    "pytest-passes": "pytest_passes",
    "final-loss-finite": "final_loss_finite",
    "no-checkpoint-format-error": "no_checkpoint_format_error",
    "every-iteration-finite": "every_iteration_finite",
    "save-resume": "save_resume",
    "parity": "parity",
    "clean-exit": "clean_exit",
}
IDS = tuple(_MODULES)

__all__ = ["IDS", "Criterion", "CriterionResult", "JudgedRun", "Verdict", "criterion"]


def criterion(name: str) -> Criterion:
    """The criterion with this id.

    Raises:
        KeyError: there is none.
    """
    module = importlib.import_module(f"mbridge_skills.criteria.{_MODULES[name]}")
    found: Criterion = module.CRITERION
    return found
