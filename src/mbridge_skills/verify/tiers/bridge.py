"""Tier bridge: upstream's own functional test, in a Megatron-Bridge checkout."""

from __future__ import annotations

import ast
import shutil
import warnings
from pathlib import Path

from mbridge_skills.card.model import VerifyBlock
from mbridge_skills.errors import InputError, Location
from mbridge_skills.verify.plan import NotHere, Request, Start, too_few_gpus, unmet_packages

_INSTALL = "run this with the Python that has Megatron-Bridge, or install uv and use a checkout with uv.lock"


def prepare(block: VerifyBlock, request: Request) -> Start | NotHere:
    """Needs ``--bridge DIR``, the GPUs, and the packages (in uv's environment where uv and a lock are there).

    Raises:
        InputError: the folder named by --bridge is no Megatron-Bridge checkout.
    """
    if request.bridge is None:
        return NotHere("no Megatron-Bridge checkout given", remedy="--bridge DIR")
    checkout = _checked(request.bridge)
    assert block.test is not None  # the card's own check demands it of this tier
    test, note = find_test(checkout, block.test)
    if test is None:
        return NotHere(note, remedy="--bridge DIR of a checkout that has the test")
    uses_uv = shutil.which("uv") is not None and (checkout / "uv.lock").is_file()
    unmet = too_few_gpus(block) or (None if uses_uv else unmet_packages(block, remedy=_INSTALL))
    if unmet:
        return unmet
    return Start(
        folder=checkout,
        prefix=("uv", "run", "python") if uses_uv else None,
        test=test,
        notes=(note,),
        takes_smoke_options=False,
    )


def find_test(checkout: Path, node_id: str) -> tuple[str | None, str]:
    """The node id under which the test is found in ``checkout``, and a sentence on how it was found.

    Looked up at its stated path; else by class and function name in every test file. Files are parsed,
    never imported.
    """
    path, *names = node_id.split("::")
    if _defines(checkout / path, names):
        return node_id, f"test found at {path}"
    found = [
        file
        for file in sorted((checkout / "tests").rglob("test_*.py"))
        if _mentions(file, names) and _defines(file, names)
    ]
    wanted = "::".join(names)
    if not found:
        return None, f"test {wanted} is nowhere in {checkout.name}/tests (not at {path} either)"
    places = [file.relative_to(checkout).as_posix() for file in found]
    others = f" (also in {', '.join(places[1:])})" if len(places) > 1 else ""
    return "::".join([places[0], *names]), f"test not at {path}; found by name at {places[0]}{others}"


def _checked(folder: Path) -> Path:
    checkout = folder.resolve()
    if not checkout.is_dir():
        raise InputError("no such folder", where=Location(folder), remedy="--bridge DIR of a checkout")
    if not (checkout / "tests").is_dir():
        raise InputError(
            "no Megatron-Bridge checkout: it has no tests folder",
            where=Location(folder),
            remedy="name the top of a Megatron-Bridge checkout; upstream's tests are in no wheel",
        )
    return checkout


def _mentions(file: Path, names: list[str]) -> bool:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return all(name in text for name in names)


def _defines(file: Path, names: list[str]) -> bool:
    """Whether ``file`` defines the classes and function ``names``, each inside the one before."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of another project's code, such as an invalid escape sequence
            body: list[ast.stmt] = ast.parse(file.read_text(encoding="utf-8", errors="replace")).body
    except (OSError, SyntaxError, ValueError):
        return False
    for name in names:
        inner = next(
            (
                node.body
                for node in body
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                and node.name == name
            ),
            None,
        )
        if inner is None:
            return False
        body = inner
    return True
