"""The top of the command line, and the one place where a result or an error becomes an exit code."""

from __future__ import annotations

import click

from mbridge_skills import __version__
from mbridge_skills.cli.lazy import LazyGroup
from mbridge_skills.errors import SkillError
from mbridge_skills.exit_codes import ExitCode


@click.group(
    name="skill",
    cls=LazyGroup,
    verbs={
        "list": ("list", "List the skills of the bundle."),
        "show": ("show", "Print a skill's card."),
        "explain": ("explain", "Print the page of one gotcha."),
        "run": ("run", "Run a part of a skill: check, triage, verify."),
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="mbridge-skills")
def root() -> None:
    """Agent skills for Megatron-Bridge that can be run.

    Exit codes: 0 ok, 1 findings or failed, 2 usage or configuration, 3 could not run (not verified).
    """


def run(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        result = root.main(args=argv, standalone_mode=False)
    except SkillError as error:
        click.echo(f"error: {error}", err=True)
        return int(error.exit_code)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {place}{error.strerror or error}", err=True)
        return int(ExitCode.USAGE)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return int(ExitCode.USAGE)
    return int(result or ExitCode.OK)
