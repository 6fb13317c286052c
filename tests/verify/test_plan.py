from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.bundle.locate import find_bundle
from mbridge_skills.card.load import load_card
from mbridge_skills.card.model import Card, Needs, VerifyBlock
from mbridge_skills.errors import InputError
from mbridge_skills.verify import machine
from mbridge_skills.verify.plan import NotHere, Plan, Request, plan, with_paths

NODE = "tests/test_x.py::TestX::test_y"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    for each in (machine.visible_gpus, machine.gpu_names, machine.torch_cuda):
        each.cache_clear()
    yield
    for each in (machine.visible_gpus, machine.gpu_names, machine.torch_cuda):
        each.cache_clear()


@pytest.fixture(scope="module")
def card() -> Card:
    return load_card(find_bundle(None).skill(None).card_path)


@pytest.fixture
def cpu(card: Card) -> VerifyBlock:
    """The bundle's CPU block, with packages that are here."""
    (block,) = card.blocks_for("cpu")
    return replace(block, needs=Needs(gpus=0, processes=2))


@pytest.fixture
def bridge(card: Card) -> VerifyBlock:
    """The bundle's block with upstream's test, on a machine that has all it needs."""
    (block,) = card.blocks_for("bridge")
    return replace(block, needs=Needs(gpus=0, processes=2, bridge_checkout=True), test=NODE)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_x.py").write_text("class TestX:\n    def test_y(self): ...\n")
    return tmp_path


def planned(card: Card, block: VerifyBlock, **request: Any) -> Plan:
    found = plan(card, block, Request(**request))
    assert isinstance(found, Plan)
    return found


def test_command_for_the_record_has_no_path_of_this_machine(card: Card, cpu: VerifyBlock) -> None:
    found = planned(card, cpu)
    assert found.template == (
        "{python}", "-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone", "--tee=3",
        "--log-dir={work}/ranks", "-m", "mbridge_skills.smoke",
        "--device=cpu", "--card={card}", "--work={work}",
    )  # fmt: skip
    assert f"--card={card.path.resolve()}" in found.argv
    assert [word for word in found.argv if word not in found.template] == [f"--card={card.path.resolve()}"]


def test_placeholders_are_filled_last(card: Card, cpu: VerifyBlock, tmp_path: Path) -> None:
    words = with_paths(planned(card, cpu).argv, tmp_path)
    assert words[0] == sys.executable
    assert f"--log-dir={tmp_path}/ranks" in words
    assert f"--work={tmp_path}" in words
    assert not [word for word in words if "{" in word]


@pytest.mark.parametrize(
    ("words", "filled"),
    [
        (["{python}", "-c", "x"], [sys.executable, "-c", "x"]),
        (["uv", "run", "python"], ["uv", "run", "python"]),
        (["a{work}b{work}"], ["a/wb/w"]),
        (["--python={python}"], ["--python={python}"]),  # only as a word of its own
        (["{other}", '{"json": 1}'], ["{other}", '{"json": 1}']),
    ],
)
def test_with_paths(words: list[str], filled: list[str]) -> None:
    assert with_paths(words, Path("/w")) == filled


def test_what_else_is_planned(card: Card, cpu: VerifyBlock) -> None:
    found = planned(card, cpu)
    assert (found.block, found.folder, found.processes, found.notes) == (cpu, None, 2, ())
    assert found.expect == cpu.expect
    assert found.environment["CUDA_VISIBLE_DEVICES"] == ""


class TestSmokeOptions:
    @pytest.mark.parametrize(
        ("options", "iterations"),
        [
            ((), 8),
            (("--strategy", "optim"), 8),
            (("--strategy=optim", "--tp", "2", "--microbatches=4"), 8),
            (("--iterations", "4"), 4),
            (("--iterations=6", "--dtype", "bf16"), 6),
            (("--iterations", "4", "--iterations", "10"), 10),
            (("--experts", "4", "--ep", "2"), 8),
        ],
    )
    def test_good(self, card: Card, cpu: VerifyBlock, options: tuple[str, ...], iterations: int) -> None:
        found = planned(card, cpu, smoke_options=options)
        assert found.expect.iterations == iterations
        assert found.argv[len(found.argv) - len(options) :] == options
        assert found.template[len(found.template) - len(options) :] == options

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--no-such",), "unrecognized arguments: --no-such"),
            (("word",), "unrecognized arguments: word"),
            (("--iter", "4"), "unrecognized arguments: --iter 4"),  # no abbreviations
            (("--strategy", "fast"), "invalid choice: 'fast'"),
            (("--dtype=fp8",), "invalid choice: 'fp8'"),
            (("--tp", "0"), "must be at least 1, got 0"),
            (("--tp", "two"), "invalid _size value: 'two'"),
            (("--iterations",), "expected one argument"),
            (("--iterations", "1"), "--iterations must be at least 2"),
            (("--iterations=-4",), "--iterations must be at least 2"),
            (("--ep", "2"), "--ep needs a mixture of experts"),
            (("--ep", "2", "--experts", "3"), "not divisible by --ep=2"),
            # Another device would be another tier's evidence.
            (("--device", "cuda"), "--device is given by the verify block itself"),
            (("--device=cuda",), "--device is given by the verify block itself"),
            (("--card=/x/card.yaml",), "--card is given by the verify block itself"),
            (("--work", "/x"), "--work is given by the verify block itself"),
        ],
    )
    def test_refused(self, card: Card, cpu: VerifyBlock, options: tuple[str, ...], message: str) -> None:
        with pytest.raises(InputError) as caught:
            plan(card, cpu, Request(smoke_options=options))
        assert message in str(caught.value)
        assert caught.value.exit_code == 2

    def test_another_number_of_processes(self, card: Card, cpu: VerifyBlock, bridge: VerifyBlock) -> None:
        found = plan(card, cpu, Request(processes=4))
        assert isinstance(found, Plan)
        assert "--nproc_per_node=4" in found.argv
        assert (found.processes, found.block.needs.gpus) == (4, 0)

    def test_on_gpus_each_process_needs_one(self, card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        (gpu,) = card.blocks_for("gpu")
        found = plan(card, gpu, Request(processes=8))
        assert isinstance(found, NotHere)
        assert "needs 8 GPUs" in found.reason

    def test_upstreams_test_takes_none(self, card: Card, bridge: VerifyBlock, checkout: Path) -> None:
        with pytest.raises(InputError, match="takes no --processes and no options after --"):
            plan(card, bridge, Request(bridge=checkout, smoke_options=("--tp", "2")))


class TestBridge:
    def test_command(
        self, card: Card, bridge: VerifyBlock, checkout: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(checkout))  # no uv
        found = planned(card, bridge, bridge=checkout)
        assert found.folder == checkout
        assert found.template == found.argv
        assert found.argv == (
            "{python}", "-m", "torch.distributed.run", "--nproc_per_node=2", "-m", "pytest", NODE, "-v", "-s",
        )  # fmt: skip
        assert not [word for word in found.template if str(checkout) in word]

    def test_not_here(self, card: Card, bridge: VerifyBlock) -> None:
        assert plan(card, bridge, Request()) == NotHere(
            "no Megatron-Bridge checkout given", remedy="--bridge DIR"
        )


@pytest.mark.parametrize(
    ("packages", "reason"),
    [
        ({"no-such-one": ">=1"}, "no-such-one is not installed"),
        ({"click": ">=99"}, "is installed, >=99 is needed"),
        (
            {"no-such-one": ">=1", "no-such-two": ">=1"},
            "no-such-one is not installed; no-such-two is not installed",
        ),
    ],
)
def test_missing_packages(card: Card, cpu: VerifyBlock, packages: dict[str, str], reason: str) -> None:
    found = plan(card, replace(cpu, needs=replace(cpu.needs, packages=packages)), Request())
    assert isinstance(found, NotHere)
    assert reason in found.reason
    assert found.remedy == "pip install 'mbridge-skills[smoke]'"
