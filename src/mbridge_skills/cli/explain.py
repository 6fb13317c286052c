"""``skill explain``: the page of a gotcha."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbridge_skills.errors import InputError

if TYPE_CHECKING:
    from mbridge_skills.gotchas.gotcha import Gotcha

FORMAT = "skill-explain/1"
FAMILIES = {
    "MB1": "checkpoints",
    "MB2": "sharding and optimizer",
    "MB3": "parallelism and layout",
    "MB4": "precision and memory",
    "MB5": "environment and launch",
    "MB6": "Torch FSDP2",
    "MB7": "Megatron FSDP v2",
    "MB8": "releases and packages",
    "MB9": "general validation rules",
}


@click.command("explain")
@click.argument("code")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--skill", "name", metavar="NAME", help="The skill that has the gotcha.")
@click.option("--bundle", type=click.Path(path_type=Path), metavar="DIR", help="The bundle to read.")
def command(code: str, form: str, name: str | None, bundle: Path | None) -> None:
    """Print what the code of a finding, like MB101, means: when it happens, in which releases, and the fix.

    Exit codes: 0 printed, 2 no such code.
    """
    from mbridge_skills.bundle.locate import find_bundle
    from mbridge_skills.triage.page import page_data, page_lines

    gotcha = find_gotcha(find_bundle(bundle, check_card=False).skill(name).folder, code)
    if form == "json":
        click.echo(json.dumps({"format": FORMAT, **page_data(gotcha)}, indent=2, ensure_ascii=False))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for line in page_lines(gotcha, console.width):
        console.print(line, soft_wrap=True)


def find_gotcha(skill: Path, code: str) -> Gotcha:
    """The gotcha ``code``, in upper or lower case, of the skill in the folder ``skill``.

    Raises:
        InputError: there is none, or its file is broken.
    """
    from mbridge_skills.gotchas.load import gotcha_files, load_gotcha

    files = {path.name.partition("-")[0]: path for path in gotcha_files(skill)}
    wanted = code.strip().upper()
    if wanted in files:
        return load_gotcha(files[wanted])
    close = difflib.get_close_matches(wanted, files, n=3, cutoff=0.6)
    families = ", ".join(f"{prefix}xx {about}" for prefix, about in FAMILIES.items())
    guess = f"did you mean {' or '.join(close)}? " if close else ""
    raise InputError(f"no gotcha has the code {code!r}", remedy=f"{guess}families: {families}")
