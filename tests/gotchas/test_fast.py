"""Compiled code and closures are two ways to evaluate: where everything is known, they agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.gotchas.derived import derived_names
from mbridge_skills.gotchas.expression import ExpressionError, parse
from mbridge_skills.gotchas.fast import compile_hits

U = UNKNOWN


def known_releases(distribution: str, specifier: str) -> bool | None:
    """Bridge satisfies everything, core nothing; the others are unknown."""
    return {"megatron-bridge": True, "megatron-core": False}.get(distribution)


_PATHS = ("a.x", "a.y", "a.z")
_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.sampled_from(["", "no", "full"]), st.just(["full"])
)
_LEAVES = st.sampled_from([*_PATHS, "0", "1", "2", "'full'", "None", "True", "bridge('>=1')", "te('>=1')"])


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(
        ["and", "or", "==", "!=", "<", ">=", "in", "not in", "+", "-", "*", "//", "%"]
    )
    return st.one_of(
        st.tuples(inner, operators, inner).map(lambda parts: "({} {} {})".format(*parts)),
        inner.map(lambda text: f"(not {text})"),
        inner.map(lambda text: f"({text} is None)"),
        st.tuples(inner, inner, inner).map(lambda parts: "({} if {} else {})".format(*parts)),
    )


_TEXTS = st.recursive(_LEAVES, _combined, max_leaves=12)


@given(_TEXTS, st.fixed_dictionaries(dict.fromkeys(_PATHS, _VALUES)))
def test_compiled_code_agrees_with_closures(text: str, values: dict[str, Any]) -> None:
    try:
        expression = parse(text)
    except ExpressionError:
        return
    slow = expression.evaluator(known_releases)(values)
    asks = [question for question in expression.questions if known_releases(*question) is None]
    decided, possible = ([], [(0, expression)]) if asks else ([(0, expression)], [])
    outcome = compile_hits(decided, possible, known_releases)(values)
    if outcome is None:
        return  # the closures decide
    found, ask = outcome
    if len(asks) == 1:
        either = [
            expression.evaluator(lambda name, _, te=te: name == "megatron-bridge" or te)
            for te in (True, False)
        ]
        assert not found
        assert bool(ask) or not any(run(values) for run in either)
    elif not asks:
        assert slow is not U
        assert bool(found) is bool(slow)


def test_conditions_that_begin_alike() -> None:
    texts = ["a.x and a.y", "a.x and a.z", "a.y or a.z", "a.x", "a.x and a.y and a.z"]
    hits = compile_hits([(number, parse(text)) for number, text in enumerate(texts)], [], known_releases)
    for values, expected in [
        ({"a.x": True, "a.y": True, "a.z": False}, [0, 2, 3]),
        ({"a.x": True, "a.y": True, "a.z": True}, [0, 1, 2, 3, 4]),
        ({"a.x": False, "a.y": False, "a.z": True}, [2]),
        ({"a.x": 0, "a.y": "", "a.z": None}, []),
    ]:
        outcome = hits(values)
        assert outcome is not None
        assert (sorted(outcome[0]), outcome[1]) == (expected, [])


def test_a_derived_name_used_twice() -> None:
    text = "megatron_fsdp and a.x or megatron_fsdp and not a.x"
    hits = compile_hits([(7, parse(text, derived_names()))], [], known_releases)
    assert hits({"ddp.use_megatron_fsdp": False, "dist.use_megatron_fsdp": True, "a.x": 1}) == ([7], [])


@pytest.mark.parametrize("value", ["text", [1], None, U])
def test_what_is_no_number_is_left_to_the_closures(value: Any) -> None:
    hits = compile_hits([(0, parse("a.x * 2 == 4"))], [], known_releases)
    assert hits({"a.x": value}) is None
    assert hits({"a.x": 2}) == ([0], [])


def test_no_condition_at_all() -> None:
    assert compile_hits([], [], known_releases)({}) == ([], [])
