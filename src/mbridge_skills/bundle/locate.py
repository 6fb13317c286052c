"""Finding the bundle: the folder with ``skills/`` and the top-level ``card.yaml``."""

from __future__ import annotations

import difflib
import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import mbridge_skills
from mbridge_skills.card.problems import input_error
from mbridge_skills.card.reader import read_document
from mbridge_skills.card.schema import schema_problems
from mbridge_skills.errors import InputError, Location

Source = Literal["option", "checkout", "installed"]

_BUNDLE_CARD = re.compile(r"^schema:[ \t]*[\"']?bundle/", re.MULTILINE)


@dataclass(frozen=True)
class Skill:
    """One skill: a folder in ``skills/`` with a SKILL.md."""

    name: str
    folder: Path

    @property
    def card_path(self) -> Path:
        """Where its card lies, or should."""
        return self.folder / "card.yaml"

    @property
    def skill_md_path(self) -> Path:
        """Where its document lies."""
        return self.folder / "SKILL.md"


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk."""

    root: Path
    source: Source  # named by an option, found as a checkout, or installed with the package
    card: Mapping[str, Any]  # the top-level card.yaml, as its schema has it
    skills: Mapping[str, Skill]  # by name, sorted

    @property
    def card_path(self) -> Path:
        """The top-level card."""
        return self.root / "card.yaml"

    def skill(self, name: str | None = None) -> Skill:
        """The skill of that name; without one, the only skill there is.

        Raises:
            InputError: there is none of that name, or no name is given and there is not exactly one.
        """
        names = ", ".join(self.skills) or "none"
        if name is None:
            if len(self.skills) == 1:
                return next(iter(self.skills.values()))
            raise InputError(f"which skill? The bundle at {self.root} has: {names}")
        if name in self.skills:
            return self.skills[name]
        close = difflib.get_close_matches(name, self.skills, n=1, cutoff=0.5)
        remedy = f"did you mean {close[0]}?" if close else None
        raise InputError(f"no skill {name!r} in the bundle at {self.root} (it has: {names})", remedy=remedy)


def find_bundle(explicit: Path | None, cwd: Path | None = None, *, check_card: bool = True) -> Bundle:
    """The bundle to work with.

    ``explicit`` (the option --bundle) wins; else the nearest bundle at or above ``cwd`` (by default the
    current folder); else the source checkout that the package is imported from; else the installed package's.
    Only the top-level card is checked here, and only its shape: what it says about the skills may be out of
    date, which `mbridge_skills.bundle.validate` tells. Without ``check_card`` not even that is, and
    ``card`` is
    empty: for what reads the skills' folders only, and starts fast.

    Raises:
        InputError: the folder named is no bundle, none is found, or the top-level card is invalid.
    """
    if explicit is not None:
        return _open(explicit, "option", check_card)
    checkout = _nearest(cwd) or _own_checkout()
    if checkout is not None:
        return _open(checkout, "checkout", check_card)
    installed = _installed()
    if not installed.is_dir():
        raise InputError(
            "no bundle of skills found: none at or above this folder, and none installed",
            remedy="name one with --bundle DIR (a folder with skills/ and card.yaml)",
        )
    return _open(installed, "installed", check_card)


def is_bundle(folder: Path) -> bool:
    """Whether ``folder`` has ``skills/`` and beside it a card.yaml that says ``schema: bundle/...``."""
    try:
        text = (folder / "card.yaml").read_text(encoding="utf-8", errors="replace")
        return (folder / "skills").is_dir() and _BUNDLE_CARD.search(text) is not None
    except OSError:
        return False


def _nearest(cwd: Path | None) -> Path | None:
    try:
        start = (cwd or Path.cwd()).absolute()
    except FileNotFoundError:  # the current folder has been deleted
        return None
    return next((folder for folder in (start, *start.parents) if is_bundle(folder)), None)


def _own_checkout() -> Path | None:
    """``src/mbridge_skills`` of a checkout: its top level, in an editable installation."""
    package = Path(mbridge_skills.__file__).absolute().parent
    top = package.parent.parent
    return top if package.parent.name == "src" and is_bundle(top) else None


def _installed() -> Path:
    """Where a wheel carries the bundle."""
    return Path(str(importlib.resources.files(mbridge_skills) / "_bundle"))


def _open(root: Path, source: Source, check_card: bool) -> Bundle:
    root = root.absolute()  # what is started with these paths may run in another folder
    card_path = root / "card.yaml"
    remedy = None
    if source == "option":
        remedy = "name the folder that has skills/ and the bundle's card.yaml"
    for needed in (root, root / "skills"):
        if not needed.is_dir():
            raise InputError("no such folder", where=Location(needed), remedy=remedy)
    card = _checked_card(card_path, remedy) if check_card else {}
    folders = sorted(path.parent for path in (root / "skills").glob("*/SKILL.md"))
    skills = {folder.name: Skill(folder.name, folder) for folder in folders}
    return Bundle(root, source, card, skills)


def _checked_card(path: Path, remedy: str | None) -> Mapping[str, Any]:
    document = read_document(path)
    problems = document.problems
    if document.data is not None or not problems:
        problems = problems + schema_problems(document, "bundle.strict")
    if problems:
        raise input_error(path, problems, remedy=remedy)
    card: Mapping[str, Any] = document.data
    return card
