"""``skill show``: a skill's card."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mbridge_skills.bundle.locate import find_bundle
from mbridge_skills.card.load import load_card


@click.command("show")
@click.argument("skill", required=False)
@click.option("--bundle", type=click.Path(path_type=Path), metavar="DIR", help="The bundle to read.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(skill: str | None, bundle: Path | None, form: str) -> None:
    """Print the card of SKILL, which may be left out where the bundle has only one.

    As JSON it is the card itself, versioned by its key "schema", with dates as text.
    """
    card = load_card(find_bundle(bundle).skill(skill).card_path)
    if form == "json":
        click.echo(json.dumps(card.data, indent=2, ensure_ascii=False))
        return
    from rich.console import Console

    from mbridge_skills.card.view import card_lines

    console = Console(highlight=False)
    for line in card_lines(card, console.width):
        console.print(line, soft_wrap=True)
