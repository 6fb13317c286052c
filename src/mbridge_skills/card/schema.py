"""Checking data against one of the package's JSON Schemas, in words that say what was expected."""

from __future__ import annotations

import difflib
import functools
import importlib.resources
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from mbridge_skills.card.problems import CardProblem, DataPath, in_order
from mbridge_skills.card.reader import Document

if TYPE_CHECKING:
    from jsonschema import ValidationError

_TYPE_NAMES = {
    "string": "a string",
    "array": "a list",
    "object": "a mapping",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
_PLURALS = {"string": "strings", "object": "mappings", "integer": "whole numbers", "number": "numbers"}


@functools.cache
def load_schema(name: str) -> dict[str, Any]:
    """The schema ``name`` of the package: card.strict, card.compat or bundle.strict."""
    text = (importlib.resources.files("mbridge_skills") / "schemas" / f"{name}.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def vocabulary(name: str, schema: str = "card.strict") -> dict[str, str]:
    """The words of a closed vocabulary (status, level, stability, tier, label, criterion) with their meaning.

    Raises:
        KeyError: the schema defines no such vocabulary.
    """
    definition = load_schema(schema)["$defs"][name]
    return {branch["const"]: branch["description"] for branch in definition["oneOf"]}


def schema_problems(document: Document, schema: str, definition: str | None = None) -> list[CardProblem]:
    """Everything in ``document`` that the schema of that name does not allow, in the order of the file.

    With ``definition``, the document as a whole is checked against that one of the schema's ``$defs``.
    """
    import jsonschema

    root = load_schema(schema)
    if definition is not None:
        root = {"$ref": f"#/$defs/{definition}", "$defs": root["$defs"]}
    validator = jsonschema.Draft202012Validator(root, format_checker=jsonschema.FormatChecker(["date"]))
    found = [
        document.problem(path, message)
        for error in validator.iter_errors(document.data)
        for path, message in _explain(error, root)
    ]
    return in_order(found)


def _explain(error: ValidationError, root: Mapping[str, Any]) -> Iterator[tuple[DataPath, str]]:
    """One or more problems for one error of jsonschema: where, and what was expected."""
    path: DataPath = tuple(error.absolute_path)
    value: Any = error.instance
    schema, rule, limit = error.schema, str(error.validator), cast(Any, error.validator_value)
    assert isinstance(schema, Mapping)
    if rule == "additionalProperties":
        known = list(schema.get("properties", {}))
        for key in [key for key in value if key not in known]:
            yield (*path, key), _unknown("key", key, known)
    elif rule == "required":
        for key in [key for key in limit if key not in value]:
            meaning = schema.get("properties", {}).get(key, {}).get("description")
            yield path, f'missing key "{key}"' + (f": {meaning}" if meaning else "")
    elif "propertyNames" in error.absolute_schema_path:
        yield (*path, value), f'expected {expected(schema)} as key, got "{value}"' + _close(schema, value)
    else:
        yield path, _expected_and_got(error, root)


def _expected_and_got(error: ValidationError, root: Mapping[str, Any]) -> str:
    schema, value, limit = error.schema, error.instance, cast(Any, error.validator_value)
    assert isinstance(schema, Mapping)
    description = _description(error, root)
    wanted = expected(schema)
    match error.validator:
        case "minItems":
            wanted = f"at least {_count(limit, 'item')}"
        case "minProperties":
            wanted = f"at least {_count(limit, 'key')}"
        case "uniqueItems":
            wanted = "no item twice"
        case "minimum":
            wanted += f" of at least {limit}"
        case "exclusiveMinimum":
            wanted += f" above {limit}"
        case "maxLength":
            wanted += f" of at most {limit} characters"
    text = f"expected {wanted}, got {got(value)}"
    if isinstance(value, str):
        text += _close(schema, value)
    elif error.validator == "type" and schema.get("type") == "string" and not isinstance(value, dict | list):
        text += ": quote it" if value is not None else ""
    return f"{text} ({description})" if description else text


def _description(error: ValidationError, root: Mapping[str, Any]) -> str | None:
    """The description of the property or item that the error is about."""
    node: Any = root
    description: str | None = None
    previous: Any = None
    for step in error.absolute_schema_path:
        while isinstance(node, Mapping) and step not in node and "$ref" in node:
            node = root["$defs"][node["$ref"].removeprefix("#/$defs/")]
            description = description or node.get("description")
        node = node[step]
        if previous == "properties" or step in ("items", "additionalProperties"):
            description = node.get("description")
            previous = None
        else:
            previous = step
    return description


def _words(schema: Mapping[str, Any]) -> list[str]:
    """The closed list of texts that a schema allows, empty where it is open."""
    if "enum" in schema:
        return [str(word) for word in schema["enum"]]
    if "const" in schema:
        return [str(schema["const"])]
    branches = schema.get("oneOf", [])
    if branches and all("const" in branch for branch in branches):
        return [str(branch["const"]) for branch in branches]
    return []


def expected(schema: Mapping[str, Any]) -> str:
    """What a schema wants, as a noun phrase."""
    words = _words(schema)
    if words:
        return " or ".join(words) if len(words) < 3 else f"one of {', '.join(words)}"
    if "title" in schema:
        return str(schema["title"])
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types == ["array"] and isinstance(schema.get("items"), Mapping):
        plural = schema["items"].get("x-plural") or _PLURALS.get(str(schema["items"].get("type")))
        return f"a list of {plural}" if plural else "a list"
    return " or ".join(_TYPE_NAMES[name] for name in types) or "another value"


def got(value: Any) -> str:
    """What there is instead, short."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        shown = value if len(value) <= 60 else value[:57] + "..."
        return f"the string {json.dumps(shown, ensure_ascii=False)}"
    if isinstance(value, list):
        return f"a list of {_count(len(value), 'item')}"
    if isinstance(value, dict):
        return f"a mapping of {_count(len(value), 'key')}"
    return f"the number {value}"


def _unknown(kind: str, word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f'unknown {kind} "{word}": did you mean "{close[0]}"?'
    return f'unknown {kind} "{word}": expected one of {", ".join(known)}'


def _close(schema: Mapping[str, Any], value: str) -> str:
    close = difflib.get_close_matches(value, _words(schema), n=1, cutoff=0.6)
    return f': did you mean "{close[0]}"?' if close else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
