"""Checking a card: as YAML, against its schema, and for what no schema can say."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from mbridge_skills.card.problems import CardProblem, in_order
from mbridge_skills.card.reader import Document, read_document
from mbridge_skills.card.schema import schema_problems
from mbridge_skills.card.semantics import semantic_problems

Profile = Literal["strict", "compat"]


def validate(path: Path, profile: Profile = "strict") -> list[CardProblem]:
    """All problems of the card at ``path``, in the order of the file; empty where it is valid.

    The strict profile is that of our own cards; compat takes every skill card of Megatron-Bridge.

    Raises:
        InputError: the file cannot be read.
    """
    return problems_of(read_document(path), profile)


def problems_of(document: Document, profile: Profile = "strict") -> list[CardProblem]:
    """The same for a card that has been read."""
    if document.data is None:
        return document.problems or [document.problem((), "the card is empty: expected a mapping")]
    found = document.problems + schema_problems(document, f"card.{profile}")
    if profile == "strict":
        found += semantic_problems(document, found)
    return in_order(found)
