from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mbridge_skills.card.model import VerifyBlock
from mbridge_skills.verify.plan import NotHere, Request, Start
from mbridge_skills.verify.tiers.cpu import prepare

Make = Callable[..., VerifyBlock]


def test_gpus_are_hidden(block: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    start = prepare(block("cpu"), Request())
    assert isinstance(start, Start)
    assert start.environment["CUDA_VISIBLE_DEVICES"] == ""
    assert start.environment["TORCHDYNAMO_DISABLE"] == "1"
    assert (start.folder, start.prefix, start.notes, start.takes_smoke_options) == (None, None, (), True)


def test_gloo_uses_the_loopback(block: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    start = prepare(block("cpu"), Request())
    assert isinstance(start, Start)
    names = [path.name for path in Path("/sys/class/net").glob("lo*")]
    assert start.environment.get("GLOO_SOCKET_IFNAME") in (names or [None])


def test_a_chosen_interface_is_left(block: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth7")
    start = prepare(block("cpu"), Request())
    assert isinstance(start, Start)
    assert "GLOO_SOCKET_IFNAME" not in start.environment


def test_missing_packages(block: Make) -> None:
    found = prepare(block("cpu", packages={"no-such-one": ">=1"}), Request())
    assert found == NotHere("no-such-one is not installed", remedy="pip install 'mbridge-skills[smoke]'")
