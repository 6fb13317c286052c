from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from mbridge_skills.card.schema import load_schema, vocabulary

SCHEMAS = ("card.strict", "card.compat", "bundle.strict")


def _schemas_inside(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every subschema with where it stands."""
    if not isinstance(node, dict):
        return
    yield path, node
    for group in ("properties", "$defs"):
        for key, child in node.get(group, {}).items():
            yield from _schemas_inside(child, f"{path}/{group}/{key}")
    for key in ("items", "additionalProperties", "propertyNames"):
        yield from _schemas_inside(node.get(key), f"{path}/{key}")


@pytest.mark.parametrize("name", SCHEMAS)
def test_is_a_valid_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(load_schema(name))


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_property_is_described(name: str) -> None:
    for path, schema in _schemas_inside(load_schema(name)):
        for key, child in schema.get("properties", {}).items():
            assert child.get("description"), f"{path}/properties/{key} has no description"


@pytest.mark.parametrize("name", ["card.strict", "bundle.strict"])
def test_every_mapping_is_closed(name: str) -> None:
    for path, schema in _schemas_inside(load_schema(name)):
        if "properties" in schema and path != "/$defs/evidence":  # closed by each of its types
            assert schema.get("additionalProperties") is False, f"{path} is open"
        elif schema.get("type") == "object" and not path.endswith(("/evidence", "/settings")):
            assert isinstance(schema.get("additionalProperties"), dict), f"{path} is open"


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_reference_resolves(name: str) -> None:
    root = load_schema(name)
    for path, schema in _schemas_inside(root):
        if "$ref" in schema:
            assert schema["$ref"].removeprefix("#/$defs/") in root["$defs"], path


@pytest.mark.parametrize("name", ["status", "level", "stability", "tier", "label", "criterion_id"])
def test_vocabulary_defines_each_word(name: str) -> None:
    words = vocabulary(name)
    assert words
    assert all(meaning.endswith(".") for meaning in words.values())


def test_bundle_knows_the_same_words_as_the_card() -> None:
    skill = load_schema("bundle.strict")["$defs"]["skill"]["properties"]
    assert skill["level"]["enum"] == list(vocabulary("level"))
    assert skill["stability"]["enum"] == list(vocabulary("stability"))
    assert skill["last_validation"]["properties"]["labels"]["items"]["enum"] == list(vocabulary("label"))


def test_unknown_vocabulary() -> None:
    with pytest.raises(KeyError):
        vocabulary("colour")
