"""``skill list``: the skills of the bundle."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mbridge_skills.bundle.locate import Bundle, find_bundle
from mbridge_skills.card.load import load_card
from mbridge_skills.card.model import Card

FORMAT = "skill-list/1"


@click.command("list")
@click.option("--bundle", type=click.Path(path_type=Path), metavar="DIR", help="The bundle to read.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(bundle: Path | None, form: str) -> None:
    """List the skills of the bundle: level, stability and last validation."""
    found = find_bundle(bundle)
    cards = [load_card(skill.card_path) for skill in found.skills.values()]
    if form == "json":
        click.echo(json.dumps(as_data(found, cards), indent=2, ensure_ascii=False))
    else:
        _print_table(found, cards)


def as_data(bundle: Bundle, cards: list[Card]) -> dict[str, object]:
    """The list for programs, versioned by its key ``format``."""
    return {
        "format": FORMAT,
        "bundle": {"name": bundle.card["name"], "root": str(bundle.root), "source": bundle.source},
        "skills": [
            {
                "name": card.name,
                "title": card.title,
                "level": card.level,
                "stability": card.stability,
                "validated_on": card.validated_on,
                "validated_with": card.validated_with,
                "verify": [{"id": block.id, "tier": block.tier} for block in card.verify],
                "card": str(card.path),
            }
            for card in cards
        ],
    }


def _print_table(bundle: Bundle, cards: list[Card]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from mbridge_skills.card.view import LEVEL_STYLES

    console = Console(highlight=False)
    if not cards:
        console.print(Text(f"The bundle at {bundle.root} has no skills."))
        return
    table = Table(box=None, pad_edge=False)
    for title in ("Skill", "Level", "Stability"):
        table.add_column(title, no_wrap=True)
    table.add_column("Validated")
    for card in cards:
        labels = ", ".join(card.validated_with)
        validated = f"{card.validated_on} {labels}" if card.validated_on else "not yet"
        level = Text(card.level, LEVEL_STYLES[card.level])
        table.add_row(Text(card.name), level, Text(card.stability), Text(validated))
    console.print(table)
