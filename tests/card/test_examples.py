"""Every file under examples/ is a card; a negative one says in its first lines what is wrong with it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from mbridge_skills.card.validate import Profile, validate

EXAMPLES = Path(__file__).parent / "examples"
_EXPECT = re.compile(r"# expect: (\S*): (.+)")


def _cases(kind: str) -> list[object]:
    paths = sorted(EXAMPLES.glob(f"*/{kind}/*.yaml"))
    return [pytest.param(path, path.parts[-3], id=f"{path.parts[-3]}-{path.stem}") for path in paths]


def _in_its_folder(path: Path, tmp_path: Path) -> Path:
    """A strict card must lie in the folder that its name says."""
    target = tmp_path / "example-skill" / "card.yaml"
    target.parent.mkdir()
    shutil.copyfile(path, target)
    return target


@pytest.mark.parametrize(("path", "profile"), _cases("positive"))
def test_positive(path: Path, profile: Profile, tmp_path: Path) -> None:
    assert validate(_in_its_folder(path, tmp_path), profile) == []


@pytest.mark.parametrize(("path", "profile"), _cases("negative"))
def test_negative(path: Path, profile: Profile, tmp_path: Path) -> None:
    expected = [match.groups() for line in path.read_text().splitlines() if (match := _EXPECT.match(line))]
    assert expected, "the file does not say what is wrong with it"

    found = validate(_in_its_folder(path, tmp_path), profile)

    shown = "\n".join(map(str, found))
    for pointer, fragment in expected:
        matching = [item for item in found if item.pointer == pointer and fragment in item.message]
        assert matching, f"expected {pointer}: {fragment}\namong\n{shown}"
    assert len(found) == len(expected), f"more than expected:\n{shown}"
