from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import mbridge_skills
from mbridge_skills.bundle import locate
from mbridge_skills.bundle.locate import find_bundle, is_bundle
from mbridge_skills.errors import InputError

Make = Callable[..., Path]


@pytest.fixture
def no_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The package as if installed in an otherwise empty site-packages; gives the package's folder."""
    package = tmp_path / "site-packages" / "mbridge_skills"
    package.mkdir(parents=True)
    monkeypatch.setattr(mbridge_skills, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(locate, "_installed", lambda: package / "_bundle")
    return package


def test_option_wins(make_bundle: Make, tmp_path: Path) -> None:
    make_bundle(tmp_path / "here", "a")
    named = make_bundle(tmp_path / "named", "b", "c")
    found = find_bundle(named, cwd=tmp_path / "here")
    assert (found.root, found.source, list(found.skills)) == (named, "option", ["b", "c"])
    assert found.card["name"] == "example-bundle"


def test_nearest_bundle_above(make_bundle: Make, tmp_path: Path) -> None:
    outer = make_bundle(tmp_path / "outer", "a")
    inner = make_bundle(outer / "work" / "inner", "b")
    assert find_bundle(None, cwd=inner / "skills" / "b").root == inner
    assert find_bundle(None, cwd=outer / "work").root == outer
    assert find_bundle(None, cwd=outer / "work").source == "checkout"


def test_current_folder_is_the_default(
    make_bundle: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle(tmp_path / "here", "a")
    monkeypatch.chdir(root)
    assert find_bundle(None).root == root
    assert find_bundle(Path()).root == root  # absolute, as named with "."


def test_other_cards_are_no_bundle(make_bundle: Make, tmp_path: Path, no_checkout: Path) -> None:
    make_bundle(no_checkout / "_bundle", "a")
    other = tmp_path / "other"
    (other / "skills").mkdir(parents=True)
    (other / "card.yaml").write_text("title: a card of something else\n")
    assert not is_bundle(other)
    assert find_bundle(None, cwd=other).source == "installed"


def test_own_checkout_from_anywhere(
    make_bundle: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_bundle(tmp_path / "checkout", "a")
    monkeypatch.setattr(mbridge_skills, "__file__", str(root / "src" / "mbridge_skills" / "__init__.py"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    found = find_bundle(None, cwd=elsewhere)
    assert (found.root, found.source) == (root, "checkout")


def test_installed_bundle(make_bundle: Make, tmp_path: Path, no_checkout: Path) -> None:
    make_bundle(no_checkout / "_bundle", "a")
    found = find_bundle(None, cwd=tmp_path)
    assert (found.root, found.source) == (no_checkout / "_bundle", "installed")


def test_none_anywhere(tmp_path: Path, no_checkout: Path) -> None:
    with pytest.raises(InputError) as caught:
        find_bundle(None, cwd=tmp_path)
    assert "no bundle of skills found" in str(caught.value)
    assert caught.value.remedy is not None
    assert "--bundle DIR" in caught.value.remedy


def test_current_folder_is_gone(
    make_bundle: Make, tmp_path: Path, no_checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bundle(no_checkout / "_bundle", "a")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_bundle(None).source == "installed"


def test_a_skill_needs_its_document(make_bundle: Make, tmp_path: Path) -> None:
    root = make_bundle(tmp_path / "b", "a")
    (root / "skills" / "draft").mkdir()
    (root / "skills" / "README.md").write_text("text")
    found = find_bundle(root)
    assert list(found.skills) == ["a"]
    assert found.skills["a"].card_path.is_file()
    assert found.skills["a"].skill_md_path.is_file()


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda root: (root / "card.yaml").unlink(), "card.yaml: no such file"),
        (lambda root: (root / "skills").rename(root / "other"), "skills: no such folder"),
        (lambda root: (root / "card.yaml").write_text("schema: bundle/2\n"), "/schema: expected bundle/1"),
        (lambda root: (root / "card.yaml").write_text("schema: [\n"), "not valid YAML"),
        (lambda root: (root / "card.yaml").write_text(""), "expected a bundle's card, got nothing"),
    ],
)
def test_broken_bundle(
    make_bundle: Make, tmp_path: Path, break_it: Callable[[Path], object], message: str
) -> None:
    root = make_bundle(tmp_path / "b", "a")
    break_it(root)
    with pytest.raises(InputError) as caught:
        find_bundle(root)
    assert message in str(caught.value)


def test_named_folder_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        find_bundle(tmp_path / "nowhere")
    assert str(caught.value) == (
        f"{tmp_path}/nowhere: no such folder\n"
        "  help: name the folder that has skills/ and the bundle's card.yaml"
    )


def test_skill_by_name(make_bundle: Make, tmp_path: Path) -> None:
    bundle = find_bundle(make_bundle(tmp_path / "b", "first-skill", "second-skill"))
    assert bundle.skill("first-skill").folder.name == "first-skill"
    with pytest.raises(InputError) as caught:
        bundle.skill("first-skil")
    assert "(it has: first-skill, second-skill)" in str(caught.value)
    assert caught.value.remedy == "did you mean first-skill?"
    with pytest.raises(InputError, match=r"which skill\? .* has: first-skill, second-skill"):
        bundle.skill()


def test_only_skill_needs_no_name(make_bundle: Make, tmp_path: Path) -> None:
    assert find_bundle(make_bundle(tmp_path / "b", "a")).skill().name == "a"
    with pytest.raises(InputError, match="has: none"):
        find_bundle(make_bundle(tmp_path / "c")).skill()
