from __future__ import annotations

import pytest
from packaging.specifiers import InvalidSpecifier

from mbridge_skills.card.versions import newest_last, satisfies, specifier_problem


@pytest.mark.parametrize(
    ("specifier", "version", "expected"),
    [
        (">=0.19", "0.19.2", True),
        (">=0.19", "0.18.2", False),
        (">=0.19", "0.19.0rc0", True),
        ("<0.19", "0.19.0rc0", False),
        ("==0.19.*", "0.19.0rc0", True),
        (">=0.20", "0.20.0.dev12+g0a1b2c3", True),
        (">=2.11", "2.11.0+cu130", True),
        (">=0.16.1,<0.20", "0.16.1", True),
        (">=0.16.1,<0.20", "0.20.0", False),
        (">0.16.1", "0.16.1.post1", False),  # as PEP 440 has it
        (">=0.19", None, None),
        (">=0.19", "unknown", None),
        (">=0.19", "0a1b2c3d4e", None),
    ],
)
def test_satisfies(specifier: str, version: str | None, expected: bool | None) -> None:
    assert satisfies(specifier, version) is expected


def test_satisfies_refuses_what_is_no_specifier() -> None:
    with pytest.raises(InvalidSpecifier):
        satisfies("about 2", "2.0")


@pytest.mark.parametrize("specifier", [">=0.19", ">=0.16.1,<0.20", "==0.19.*", "!=0.6.1", "~=2.11"])
def test_specifier_is_fine(specifier: str) -> None:
    assert specifier_problem(specifier) is None


@pytest.mark.parametrize(
    "specifier", ["0.19", "", " ", ">=", ">=0.19rc1", "<0.20.dev0", "===abc", ">=0.19 or <2"]
)
def test_specifier_is_refused(specifier: str) -> None:
    problem = specifier_problem(specifier)
    assert problem is not None
    assert problem.startswith("expected a release specifier")


def test_newest_last() -> None:
    assert newest_last({"0.19.2", "0.9.1", "0.16.1", "main"}) == ["main", "0.9.1", "0.16.1", "0.19.2"]
