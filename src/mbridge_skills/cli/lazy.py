"""A group of verbs that are imported on use, so that ``--help`` stays fast."""

from __future__ import annotations

import importlib

import click


class LazyGroup(click.Group):
    """``verbs`` is a table: verb -> (module in :mod:`mbridge_skills.cli`, one-line help)."""

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
