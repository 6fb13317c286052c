"""``skill run``: the group of the things a skill can do."""

from __future__ import annotations

import click

from mbridge_skills.cli.lazy import LazyGroup


@click.group(
    name="run",
    cls=LazyGroup,
    verbs={
        "check": ("check", "Predict what configurations run into, release by release."),
        "triage": ("triage", "Say which known trap explains the failure in a log."),
        "verify": ("verify", "Run the smoke test and decide the success criteria."),
    },
)
def command() -> None:
    """Run a part of a skill."""
