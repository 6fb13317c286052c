from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mbridge_skills.card.model import VerifyBlock
from mbridge_skills.errors import InputError
from mbridge_skills.verify.plan import NotHere, Request, Start
from mbridge_skills.verify.tiers.bridge import find_test, prepare

Make = Callable[..., VerifyBlock]
PATH = "tests/functional/test_fsdp.py"
NODE = f"{PATH}::TestFSDP::test_train"
TEST = "import torch\n\nclass TestFSDP:\n    def test_other(self): ...\n\n    def test_train(self): ...\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[..., Path]:
    """A checkout with these files: path -> text."""

    def make(files: dict[str, str], lock: bool = False) -> Path:
        root = tmp_path / "Megatron-Bridge"
        (root / "tests").mkdir(parents=True)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        if lock:
            (root / "uv.lock").write_text("version = 1\n")
        return root

    return make


@pytest.mark.parametrize(
    ("files", "found", "note"),
    [
        ({PATH: TEST}, NODE, f"test found at {PATH}"),
        # Its stated place comes first, whatever else there is.
        ({PATH: TEST, "tests/a/test_a.py": TEST}, NODE, f"test found at {PATH}"),
        (
            {"tests/new/test_moved.py": TEST},
            "tests/new/test_moved.py::TestFSDP::test_train",
            f"test not at {PATH}; found by name at tests/new/test_moved.py",
        ),
        (
            {PATH: "class TestFSDP: ...\n", "tests/new/test_moved.py": TEST},
            "tests/new/test_moved.py::TestFSDP::test_train",
            f"test not at {PATH}; found by name at tests/new/test_moved.py",
        ),
        (
            {"tests/b/test_b.py": TEST, "tests/a/test_a.py": TEST, "tests/c/test_c.py": TEST},
            "tests/a/test_a.py::TestFSDP::test_train",
            f"test not at {PATH}; found by name at tests/a/test_a.py"
            " (also in tests/b/test_b.py, tests/c/test_c.py)",
        ),
        (
            {PATH: TEST.replace("    def test_train", "    async def test_train")},
            NODE,
            f"test found at {PATH}",
        ),
        # Upstream's code is not ours to be warned about.
        ({PATH: '"""A \\d docstring."""\n' + TEST}, NODE, f"test found at {PATH}"),
    ],
)  # fmt: skip
def test_found(checkout: Callable[..., Path], files: dict[str, str], found: str, note: str) -> None:
    assert find_test(checkout(files), NODE) == (found, note)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {PATH: ""},
        {PATH: "# class TestFSDP: def test_train\n"},
        {PATH: '"""TestFSDP::test_train"""\n'},
        {PATH: 'NAMES = ["TestFSDP", "test_train"]\n'},
        {PATH: TEST.replace("class TestFSDP", "class TestOther") + "\nTestFSDP = TestOther\n"},
        {PATH: TEST.replace("test_train", "test_train_more")},
        {PATH: "class TestFSDP: ...\n\ndef test_train(): ...\n"},  # the function is not in the class
        {PATH: "def test_train():\n    class TestFSDP: ...\n"},
        {PATH: TEST + "\ndef broken(:\n"},
        {PATH: TEST + "\x00"},
        {"tests/functional/fsdp.py": TEST},  # pytest would not collect it
        {"src/test_fsdp.py": TEST},
        {f"{PATH}.orig": TEST},
    ],
)
def test_not_found(checkout: Callable[..., Path], files: dict[str, str]) -> None:
    assert find_test(checkout(files), NODE) == (
        None,
        f"test TestFSDP::test_train is nowhere in Megatron-Bridge/tests (not at {PATH} either)",
    )


def test_a_broken_file_hides_no_other(checkout: Callable[..., Path]) -> None:
    root = checkout({"tests/a/test_a.py": TEST + "\ndef broken(:\n", "tests/b/test_b.py": TEST})
    assert find_test(root, NODE)[0] == "tests/b/test_b.py::TestFSDP::test_train"


def test_files_are_not_run(checkout: Callable[..., Path], tmp_path: Path) -> None:
    mark = tmp_path / "was-run"
    root = checkout({"tests/a/test_a.py": f"open({str(mark)!r}, 'w')\n{TEST}"})
    assert find_test(root, NODE)[0] is not None
    assert not mark.exists()


def test_a_folder_named_like_a_test(checkout: Callable[..., Path]) -> None:
    root = checkout({"tests/b/test_b.py": TEST})
    (root / "tests/test_folder.py").mkdir()
    assert find_test(root, NODE)[0] == "tests/b/test_b.py::TestFSDP::test_train"


def test_start(block: Make, checkout: Callable[..., Path]) -> None:
    root = checkout({PATH: TEST})
    start = prepare(block("bridge"), Request(bridge=root))
    assert start == Start(
        folder=root, prefix=None, test=NODE, notes=(f"test found at {PATH}",), takes_smoke_options=False
    )


def test_a_relative_folder(
    block: Make, checkout: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = checkout({PATH: TEST})
    monkeypatch.chdir(root.parent)
    start = prepare(block("bridge"), Request(bridge=Path("Megatron-Bridge")))
    assert isinstance(start, Start)
    assert start.folder == root


@pytest.mark.parametrize(
    ("uv", "lock", "prefix"),
    [
        (True, True, ("uv", "run", "python")),
        (True, False, None),
        (False, True, None),
        (False, False, None),
    ],
)
def test_uv_with_a_lock_file_only(
    block: Make, checkout: Callable[..., Path], no_tools: Path, uv: bool, lock: bool, prefix: tuple[str, ...]
) -> None:
    root = checkout({PATH: TEST}, lock=lock)
    if uv:
        (no_tools / "uv").write_text("#!/bin/sh\nexit 1\n")
        (no_tools / "uv").chmod(0o755)
    start = prepare(block("bridge"), Request(bridge=root))
    assert isinstance(start, Start)
    assert start.prefix == prefix


@pytest.mark.parametrize(("uv", "here"), [(True, True), (False, False)])
def test_packages_are_looked_for_where_the_test_runs(
    block: Make, checkout: Callable[..., Path], no_tools: Path, uv: bool, here: bool
) -> None:
    root = checkout({PATH: TEST}, lock=True)
    if uv:
        (no_tools / "uv").write_text("#!/bin/sh\nexit 1\n")
        (no_tools / "uv").chmod(0o755)
    found = prepare(block("bridge", packages={"no-such-one": ">=1"}), Request(bridge=root))
    assert isinstance(found, Start) is here
    if not here:
        assert isinstance(found, NotHere)
        assert found.reason == "no-such-one is not installed"
        assert found.remedy is not None
        assert "Megatron-Bridge" in found.remedy


def test_without_a_checkout(block: Make) -> None:
    assert prepare(block("bridge"), Request()) == NotHere(
        "no Megatron-Bridge checkout given", remedy="--bridge DIR"
    )


def test_too_few_gpus(block: Make, checkout: Callable[..., Path]) -> None:
    found = prepare(block("bridge", gpus=2), Request(bridge=checkout({PATH: TEST})))
    assert isinstance(found, NotHere)
    assert found.reason == "needs 2 GPUs, none visible"


def test_a_checkout_without_the_test(block: Make, checkout: Callable[..., Path]) -> None:
    found = prepare(block("bridge"), Request(bridge=checkout({PATH: ""})))
    assert isinstance(found, NotHere)
    assert found.reason.startswith("test TestFSDP::test_train is nowhere in Megatron-Bridge/tests")
    assert found.remedy == "--bridge DIR of a checkout that has the test"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nowhere", "no such folder"),
        ("file", "no such folder"),
        ("empty", "no Megatron-Bridge checkout: it has no tests folder"),
    ],
)
def test_no_checkout(block: Make, tmp_path: Path, place: str, message: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError) as caught:
        prepare(block("bridge"), Request(bridge=tmp_path / place))
    assert caught.value.exit_code == 2
    assert caught.value.message == message
    assert str(tmp_path / place) in str(caught.value)
    assert caught.value.remedy is not None
