from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.logs.events import TrainingDone

Parse = Callable[..., list[Any]]


@pytest.mark.parametrize("before", ["", "Deleting CUDA graphs", "\x1b[0m"])
def test_recognises(parse: Parse, before: str) -> None:
    assert parse(before + "[after training is done] datetime: 2026-11-30 19:45:38 ") == [
        TrainingDone(1, None)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "training is done",
        "after training is done",
        "[after dataloaders are built] datetime: 2026-11-30",
        "done with setup ...",
    ],
)
def test_leaves_it_alone(parse: Parse, text: str) -> None:
    assert parse(text) == []
