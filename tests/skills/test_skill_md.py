"""SKILL.md: the Agent Skills format, and that what it tells an assistant to run and to set is true here."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from mbridge_skills.card.load import load_card
from mbridge_skills.card.model import Card
from mbridge_skills.cli.main import root
from mbridge_skills.smoke import options as smoke_options

SKILL = Path(__file__).parents[2] / "skills" / "nemo-mbridge-perf-megatron-fsdp"
TEXT = (SKILL / "SKILL.md").read_text(encoding="utf-8")
_, FRONTMATTER, BODY = re.split(r"^---\n", TEXT, maxsplit=2, flags=re.MULTILINE)

SECTIONS = [
    "Purpose",
    "Prerequisites",
    "Instructions",
    "Examples",
    "Code anchors",
    "Gotchas",
    "Verification",
    "Limitations",
    "Troubleshooting",
]
# Characters per token of this file; cl100k_base gives 3.46. A lower figure counts more tokens.
CHARACTERS_PER_TOKEN = 3.4


@pytest.fixture(scope="module")
def meta() -> dict[str, Any]:
    return yaml.safe_load(FRONTMATTER)


@pytest.fixture(scope="module")
def card() -> Card:
    return load_card(SKILL / "card.yaml")


def fenced(language: str, text: str = BODY) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    """The text below the heading ``title`` (any level), up to the next heading of that level or higher."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", BODY, flags=re.MULTILINE)
    assert found, f"no section {title}"
    rest = BODY[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, flags=re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in ``text``."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def commands() -> Iterator[str]:
    """Every command line that begins with ``mbridge-skills``, in bash blocks and in running text."""
    for block in fenced("bash"):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("mbridge-skills"):
                yield line
    yield from re.findall(r"`(mbridge-skills [^`]+)`", BODY)


def assignments(code: str) -> dict[str, Any]:
    """``cfg.a.b = value`` -> ``{"a.b": value}``; a value that is no literal stays source text."""
    found = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            key = ast.unparse(node.targets[0]).removeprefix("cfg.")
            try:
                found[key] = ast.literal_eval(node.value)
            except ValueError:
                found[key] = ast.unparse(node.value)
    return found


def as_python(value: Any) -> Any:
    """A card's value as the document writes it: ``{_target_: torch.float32, ...}`` is ``torch.float32``."""
    return value["_target_"] if isinstance(value, Mapping) else value


# Frontmatter


def test_frontmatter_has_only_the_keys_of_the_format(meta: dict[str, Any]) -> None:
    allowed = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert set(meta) <= allowed
    assert {"name", "description", "license"} <= set(meta)
    assert meta["license"] == "Apache-2.0"


def test_name_is_the_folder(meta: dict[str, Any]) -> None:
    assert meta["name"] == SKILL.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", meta["name"])
    assert len(meta["name"]) <= 64


def test_description_says_what_and_when(meta: dict[str, Any]) -> None:
    text = meta["description"]
    assert 1 <= len(text) <= 400
    assert not set("<>") & set(text)
    assert "Use when " in text


@pytest.mark.parametrize(
    "trigger",
    [
        "use_megatron_fsdp",
        "data_parallel_sharding_strategy",
        "fsdp_dtensor",
        "Megatron FSDP",
        "sharded data parallel",
        "OOM after an FSDP change",
        "FSDP loss differs from DDP",
    ],
)
def test_description_has_the_trigger_words(meta: dict[str, Any], trigger: str) -> None:
    assert trigger in meta["description"].partition("Use when ")[2]


def test_compatibility_is_one_short_line(meta: dict[str, Any]) -> None:
    assert 1 <= len(meta["compatibility"]) <= 500
    assert "\n" not in meta["compatibility"]


def test_metadata_maps_text_to_text(meta: dict[str, Any]) -> None:
    assert {"author", "version", "tags"} <= set(meta["metadata"])
    assert all(isinstance(part, str) for item in meta["metadata"].items() for part in item)


# Shape


def test_sections_in_order() -> None:
    outside = re.sub(r"^```.*?^```$", "", BODY, flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^# ", outside, flags=re.MULTILINE)) == 1
    assert re.findall(r"^## (.+)$", outside, flags=re.MULTILINE) == SECTIONS
    steps = re.findall(r"^### (.+)$", section("Instructions"), flags=re.MULTILINE)
    assert steps == ["Enable", "Check", "Patch", "Verify"]


def test_size() -> None:
    assert len(BODY.splitlines()) < 500
    assert len(BODY) / CHARACTERS_PER_TOKEN < 5000


def test_links_stay_in_the_skill_folder() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", BODY)
    assert targets
    for target in targets:
        assert (SKILL / target).is_file(), target
        assert ".." not in Path(target).parts, target
    assert not re.search(r"@(docs|skills|src)/", BODY)


# What it tells an assistant to run


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_command_parses(line: str) -> None:
    words = shlex.split(line, comments=True)
    smoke: list[str] = []
    if "--" in words:
        split = words.index("--")
        words, smoke = words[:split], words[split + 1 :]
    name, command = words.pop(0), root
    context: click.Context | None = None
    while isinstance(command, click.Group):
        context = click.Context(command, parent=context, info_name=name)
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"there is no {name}"
        command = found
    command.make_context(name, words, parent=context)  # parses and checks; does not run
    if smoke:
        smoke_options.parse(["--device=cpu", "--card=card.yaml", "--work=work", *smoke])


def test_there_are_commands() -> None:
    found = list(commands())
    assert "mbridge-skills run verify" in found
    assert len(found) >= 8


@pytest.mark.parametrize("verb", ["check", "patch"])
def test_a_missing_verb_is_called_missing(verb: str) -> None:
    run = root.get_command(click.Context(root), "run")
    assert isinstance(run, click.Group)
    text = section(verb.capitalize())
    exists = run.get_command(click.Context(run), verb) is not None
    assert exists != ("is not in this release yet" in text)
    assert exists == (f"mbridge-skills run {verb}" in text)


def test_no_bare_skill_command() -> None:
    assert not re.search(r"(?<![\w-])skill +(run|list|show|check|patch)\b", BODY)
    assert "/usr/bin/skill" in BODY


def test_no_scripts_of_ours() -> None:
    assert set(re.findall(r"scripts/\w*", BODY)) == {"scripts/performance"}


def test_no_line_numbers() -> None:
    assert not re.search(r"\.(py|md|sh|yaml):\d|#L\d|\blines? \d", BODY)


# What it tells an assistant to set


def test_minimal_override_is_the_cards_recommended_path(card: Card) -> None:
    assert assignments(fenced("python", section("Enable"))[0]) == dict(card.recommended_path)


def test_recipe_fixup_contains_the_minimal_override(card: Card) -> None:
    fixup = assignments(fenced("python", section("Enable"))[1])
    assert fixup.items() >= card.recommended_path.items()
    assert set(fixup) - set(card.recommended_path) == {"checkpoint.save", "checkpoint.load"}


def test_version_overrides_are_the_cards(card: Card) -> None:
    short = {"megatron-core": "core", "megatron-bridge": "Bridge"}
    written = {
        row[0].partition(" (")[0]: assignments("\n".join(re.findall(r"`(cfg\.[^`]+=[^`]+)`", row[1])))
        for row in rows(section("Enable"))
    }
    for override in card.version_overrides:
        (package, specifier), *others = override.when.items()
        assert not others, "the table has room for one package"
        operator, version = re.fullmatch(r"([<>=!]+)(.+)", specifier).groups()  # type: ignore[union-attr]
        release = f"{short[package]} {operator} {version}"
        assert written[release] == {key: as_python(value) for key, value in override.set.items()}


# What it says about the code


def test_code_anchors_are_path_and_symbol() -> None:
    table = rows(section("Code anchors"))[2:]
    places = [row[0] for row in table if row[0]]
    assert places == [
        "Config definition",
        "Checkpoint format",
        "Validation",
        "Wrapper selection",
        "Harness override",
    ]
    for row in table:
        assert re.fullmatch(r"`[\w./-]+\.py::[A-Za-z_][\w.]*`", row[2]), row[2]


@pytest.mark.parametrize("release", ["0.3.1", "0.4.2", "0.5.1", "0.6.x", "HEAD"])
def test_every_place_has_an_anchor_in_every_release(release: str) -> None:
    place, covered = "", set()
    for row in rows(section("Code anchors"))[2:]:
        place = row[0] or place
        if release in row[1] or row[1].startswith("all"):
            covered.add(place)
    assert len(covered) == 5


def test_smoke_command_and_tiers_are_the_cards(card: Card) -> None:
    nodes = [block.test for block in card.verify if block.test]
    assert nodes
    assert all(node in section("Verification") for node in nodes)
    tiers = {row[0].strip("`") for row in rows(section("Verify"))[2:]}
    assert tiers == {block.tier for block in card.verify}


def test_simulated_evidence_is_named() -> None:
    assert "cpu-simulated" in section("Verify")
    assert "not verified" in section("Verify")
