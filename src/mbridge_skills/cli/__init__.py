"""The command line: one file per verb, imported only when that verb is used."""

from __future__ import annotations

import importlib

import click

from mbridge_skills import __version__
from mbridge_skills.errors import SkillError
from mbridge_skills.exit_codes import ExitCode


class LazyGroup(click.Group):
    """A group whose commands live in modules that are imported on use, so that ``--help`` stays fast."""

    def __init__(self, *args: object, verbs: dict[str, tuple[str, str]], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which a user meets them."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one verb."""
        if cmd_name not in self._verbs:
            return None
        module = importlib.import_module(f"mbridge_skills.cli.{self._verbs[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._verbs.items()])


@click.group(
    name="skill",
    cls=LazyGroup,
    verbs={
        "list": ("list", "List the skills of the bundle."),
        "show": ("show", "Print a skill's card."),
        "run": ("run", "Run a part of a skill: verify."),
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="mbridge-skills")
def root() -> None:
    """Agent skills for Megatron-Bridge that can be run.

    Exit codes: 0 ok, 1 findings or failed, 2 usage or configuration, 3 could not run (not verified).
    """


def run(argv: list[str] | None = None) -> int:
    """Run the command line; the one place where a result or an error becomes an exit code."""
    try:
        result = root.main(args=argv, standalone_mode=False)
    except SkillError as error:
        click.echo(f"error: {error}", err=True)
        return int(error.exit_code)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return int(ExitCode.USAGE)
    return int(result or ExitCode.OK)
