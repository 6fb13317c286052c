"""Tests of ``if``, ``[[ ]]`` and ``case``: true, false, or not decided by the script alone."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from mbridge_skills.readers.shell.expand import Expander, join
from mbridge_skills.readers.shell.text import Text

if TYPE_CHECKING:
    from tree_sitter import Node

_NUMBERS = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}
_DEFAULT = re.compile(r"\$\{(\w+):?[-=?][^{}]*\}|\$\{(\w+)\}|\$(\w+)")


def test(node: Node, expander: Expander) -> bool | None:
    """Whether a test holds; None where the script alone does not decide it."""
    match node.type:
        case "test_command":
            inner = node.named_children
            return test(inner[0], expander) if len(inner) == 1 else None
        case "parenthesized_expression" | "redirected_statement":
            return test(node.named_children[0], expander) if node.named_children else None
        case "negated_command":
            value = test(node.named_children[0], expander) if node.named_children else None
            return None if value is None else not value
        case "list":
            return _list(node, expander)
        case "unary_expression":
            return _unary(node, expander)
        case "binary_expression":
            return _binary(node, expander)
        case "command":
            return _command(node, expander)
        case "string" | "word" | "simple_expansion" | "expansion" | "number" | "concatenation":
            text = expander.text(node)
            return bool(text.value) if text.certain else None
    return None


def _list(node: Node, expander: Expander) -> bool | None:
    parts = node.named_children
    if len(parts) != 2:
        return None
    both = any(child.type == "&&" for child in node.children)
    return _and_or(both, test(parts[0], expander), test(parts[1], expander))


def _and_or(both: bool, left: bool | None, right: bool | None) -> bool | None:
    stops = not both
    if left is stops or right is stops:
        return stops
    return None if left is None or right is None else both


def _unary(node: Node, expander: Expander) -> bool | None:
    operand = node.named_children[-1]
    operator = node.children[0]
    name = expander.script.of(operator).value
    if name == "!":
        value = test(operand, expander)
        return None if value is None else not value
    text = expander.text(operand)
    if name in ("-n", "-z"):
        if text.known and not text.certain:
            return None
        full = bool(text.value.strip("\ue000")) or (None if text.value else False)
        return None if full is None else full is (name == "-n")
    return None


def _binary(node: Node, expander: Expander) -> bool | None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    symbol = node.child_by_field_name("operator")
    if symbol is None:
        symbol = next((child for child in node.children if not child.is_named), None)
    if left is None or right is None or symbol is None:
        return None
    operator = expander.script.of(symbol).value
    if operator in ("&&", "||", "-a", "-o"):
        return _and_or(operator in ("&&", "-a"), test(left, expander), test(right, expander))
    a, b = expander.text(left), expander.text(right)
    if operator in ("=", "==", "!="):
        plain = right.type in ("string", "raw_string")
        return compare_texts(a, b, "!=" if operator == "!=" else "==", pattern=not plain)
    return compare_numbers(a, b, _NUMBERS.get(operator, operator))


def compare_texts(a: Text, b: Text, operator: str, *, pattern: bool) -> bool | None:
    """``==`` and ``!=``; the right side may be a pattern."""
    if not (a.certain and b.certain):
        return None
    special = pattern and re.search(r"[*?\[]", b.value)
    if pattern and re.search(r"[+@!]\(", b.value):
        return None
    same = fnmatch.fnmatchcase(a.value, b.value) if special else a.value == b.value
    return same is (operator == "==")


def compare_numbers(a: Text, b: Text, operator: str) -> bool | None:
    """The comparisons of whole numbers."""
    if not (a.certain and b.certain):
        return None
    try:
        x, y = int(a.value), int(b.value)
    except ValueError:
        return None
    results = {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}
    return results.get(operator)


def _command(node: Node, expander: Expander) -> bool | None:
    """``true``, ``false``, ``[ ... ]`` and ``test ...`` where the grammar sees a command."""
    name = node.child_by_field_name("name")
    word = expander.text(name).value if name else ""
    if word in ("true", ":", "false"):
        return word != "false"
    if word != "test":
        return None
    arguments = node.children_by_field_name("argument")
    if len(arguments) == 3:
        a, operator, b = (join(expander.words(each)) for each in arguments)
        if operator.value in ("=", "==", "!="):
            return compare_texts(a, b, "!=" if operator.value == "!=" else "==", pattern=False)
        if operator.value in _NUMBERS:
            return compare_numbers(a, b, _NUMBERS[operator.value])
    return None


def described(node: Node, expander: Expander) -> str:
    """A test as a person would write it: ``[[ ${FSDP:-0} == 1 ]]`` is "FSDP == 1"."""
    text = " ".join(expander.script.of(node).value.replace("\\\n", " ").split())
    text = re.sub(r"\[\[? (.*?) \]\]?", r"\1", text)
    text = _DEFAULT.sub(lambda match: match[1] or match[2] or match[3], text)
    text = text.replace('"', "").replace("'", "")
    text = re.sub(r" (?:=|-eq) ", " == ", text)
    return re.sub(r" -ne ", " != ", text).strip().rstrip(";")


def opposite(condition: str) -> str:
    """The other outcome of a test."""
    if "&&" in condition or "||" in condition:
        return f"not ({condition})"
    if " == " in condition:
        return condition.replace(" == ", " != ")
    if " != " in condition:
        return condition.replace(" != ", " == ")
    if condition.startswith("-n "):
        return f"-z {condition[3:]}"
    if condition.startswith("-z "):
        return f"-n {condition[3:]}"
    return condition[2:] if condition.startswith("! ") else f"! {condition}"
