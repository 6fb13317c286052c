from __future__ import annotations

from collections.abc import Callable

import pytest

from mbridge_skills.card.model import VerifyBlock
from mbridge_skills.verify.plan import NotHere, Request, Start
from mbridge_skills.verify.tiers.gpu import prepare

Make = Callable[..., VerifyBlock]


def test_one_connection_per_device_is_undone(
    block: Make, gpus: Callable[[int], None], torch: Callable[[str | None], None]
) -> None:
    gpus(2)
    torch("12.8")
    start = prepare(block("gpu", gpus=2, packages={"torch": ">=2.11"}), Request())
    assert isinstance(start, Start)
    assert start.environment == {"CUDA_DEVICE_MAX_CONNECTIONS": None, "OMP_NUM_THREADS": "1"}
    assert start.takes_smoke_options


@pytest.mark.parametrize(
    ("present", "visible", "reason", "remedy"),
    [
        (0, None, "needs 2 GPUs, none visible", "run it where there are enough, or choose --tier cpu"),
        (1, None, "needs 2 GPUs, 1 visible", "run it where there are enough, or choose --tier cpu"),
        (2, "", "needs 2 GPUs, none visible", "unset CUDA_VISIBLE_DEVICES, which hides 2"),
        (2, "-1", "needs 2 GPUs, none visible", "unset CUDA_VISIBLE_DEVICES, which hides 2"),
        (2, "0", "needs 2 GPUs, 1 visible", "unset CUDA_VISIBLE_DEVICES, which hides 1"),
        (8, "7", "needs 2 GPUs, 1 visible", "unset CUDA_VISIBLE_DEVICES, which hides 7"),
    ],
)
def test_too_few_gpus(
    block: Make,
    gpus: Callable[[int], None],
    torch: Callable[[str | None], None],
    monkeypatch: pytest.MonkeyPatch,
    present: int,
    visible: str | None,
    reason: str,
    remedy: str,
) -> None:
    gpus(present)
    torch("12.8")
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert prepare(block("gpu", gpus=2), Request()) == NotHere(reason, remedy=remedy)


def test_torch_without_cuda(
    block: Make, gpus: Callable[[int], None], torch: Callable[[str | None], None]
) -> None:
    gpus(2)
    torch(None)
    found = prepare(block("gpu", gpus=2), Request())
    assert found == NotHere("torch 2.12.0 is built without CUDA", remedy="install a CUDA build of torch")


def test_missing_packages(
    block: Make, gpus: Callable[[int], None], torch: Callable[[str | None], None]
) -> None:
    gpus(2)
    torch("12.8")
    found = prepare(block("gpu", gpus=2, packages={"torch": ">=3"}), Request())
    assert isinstance(found, NotHere)
    assert found.reason == "torch 2.12.0 is installed, >=3 is needed"
