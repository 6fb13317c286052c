from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.gotchas.derived import derived_names
from mbridge_skills.gotchas.expression import Expression, ExpressionError, parse

U = UNKNOWN


def known_releases(distribution: str, specifier: str) -> bool | None:
    """Bridge satisfies everything, core nothing; the others are unknown."""
    return {"megatron-bridge": True, "megatron-core": False}.get(distribution)


def value_of(text: str, **operands: Any) -> Any:
    """The value of ``text``; an operand ``a_b`` is the path ``a.b``."""
    values = {name.replace("_", ".", 1): value for name, value in operands.items()}
    return parse(text).evaluator(known_releases)(values)


@pytest.mark.parametrize(
    ("text", "operands", "expected"),
    [
        ("a.x and a.y", {"a_x": True, "a_y": True}, True),
        ("a.x and a.y", {"a_x": False, "a_y": U}, False),
        ("a.x and a.y", {"a_x": U, "a_y": False}, False),
        ("a.x and a.y", {"a_x": U, "a_y": True}, U),
        ("a.x or a.y", {"a_x": U, "a_y": True}, True),
        ("a.x or a.y", {"a_x": U, "a_y": False}, U),
        ("a.x or 1", {"a_x": None}, 1),
        ("not a.x", {"a_x": U}, U),
        ("not a.x", {"a_x": ""}, True),
        ("a.x is None", {"a_x": None}, True),
        ("a.x is None", {"a_x": U}, U),
        ("a.x is not None", {"a_x": 0}, True),
        ("a.x == 'b'", {"a_x": "b"}, True),
        ("a.x != a.y", {"a_x": 1, "a_y": U}, U),
        ("a.x in ('b', 'c')", {"a_x": "c"}, True),
        ("a.x not in ('b', 'c')", {"a_x": "d"}, True),
        ("'moe' in a.x", {"a_x": ["moe"]}, True),
        ("'moe' in a.x", {"a_x": None}, U),
        ("a.x < 2", {"a_x": None}, U),
        ("1 < a.x <= 4", {"a_x": 4}, True),
        ("1 < a.x <= a.y", {"a_x": 1, "a_y": U}, False),
        ("1 < a.x <= a.y", {"a_x": 2, "a_y": U}, U),
        ("a.x // a.y", {"a_x": 9, "a_y": 2}, 4),
        ("a.x % a.y != 0", {"a_x": 9, "a_y": 0}, U),
        ("a.x * 2", {"a_x": "text"}, U),
        ("a.x - -1", {"a_x": 1}, 2),
        ("a.x if a.y else 0", {"a_x": 3, "a_y": U}, U),
        ("0 if a.y else 0", {"a_y": U}, 0),
        ("a.x if a.y else 0", {"a_x": 3, "a_y": True}, 3),
        ("bridge('>=0.5') and not core('>=0.18')", {}, True),
        ("te('>=2.10')", {}, U),
        ("te('>=2.10') and a.x", {"a_x": False}, False),
    ],
)
def test_value(text: str, operands: dict[str, Any], expected: Any) -> None:
    found = value_of(text, **operands)
    assert found is expected or (expected is not U and found == expected)


def test_device_capability_is_a_tuple() -> None:
    run = parse("device_capability < (10, 0)").evaluator(known_releases)
    assert run({"device_capability": (9, 0)}) is True
    assert run({"device_capability": (10, 0)}) is False
    assert run({"device_capability": U}) is U


def test_variable_of_the_environment() -> None:
    expression = parse('env["NAME"] != "1"')
    assert expression.operands == {"env:NAME"}
    assert expression.paths == frozenset()
    assert expression.evaluator(known_releases)({"env:NAME": None}) is True


def test_runs_over_lines() -> None:
    assert value_of("a.x\n  and a.y", a_x=1, a_y=2) == 2


def test_derived_name_is_inlined() -> None:
    expression = parse("data_parallel_size > 1", derived_names())
    assert "world_size" in expression.operands
    assert "model.context_parallel_size" in expression.numbers
    values = {
        "world_size": 8,
        "model.tensor_model_parallel_size": 2,
        "model.pipeline_model_parallel_size": 1,
        "model.context_parallel_size": 2,
    }
    assert expression.evaluator(known_releases)(values) is True


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not an expression"),
        ("a.b and", "not an expression"),
        ("fsdp", 'unknown name "fsdp"'),
        ("__import__('os').system('true')", "the only calls are"),
        ("a.b()", "the only calls are"),
        ("core('0.18')", "expected a release specifier"),
        ("core('>=0.18', 1)", "the only calls are"),
        ("a.b[0]", "only env"),
        ("env[a.b]", "only env"),
        ("a.b is 3", '"is" goes with None'),
        ("a.b ** 9", "not allowed"),
        ("a.b / 2", "not allowed"),
        ("lambda: a.b", "not allowed"),
        ("[x for x in a.b]", "not allowed"),
        ("f'{a.b}'", "not allowed"),
        ("(a := 1)", "not allowed"),
        ("{'a': 1}", "not allowed"),
        ("-a.b", "not allowed"),
        ("a.b * 'text'", "cannot calculate"),
        ("(a.b or None) + 1", "cannot calculate"),
        ("b'a' == a.b", "not allowed"),
        ("(0).real", "not a dotted path"),
        ("a.b)", "not an expression"),
        ("a.b and (" * 80 + "a.b" + ")" * 80, "nested deeper"),
        ("a.b or " * 500 + "a.b", "longer than"),
    ],
)
def test_is_refused(text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=said):
        parse(text)


def test_error_has_a_column() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("a.b and fsdp")
    assert caught.value.column == 9


# Conditions made at random.

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


@given(_TEXTS, st.fixed_dictionaries(dict.fromkeys(_PATHS, _VALUES)), st.sampled_from(_PATHS), _VALUES)
def test_what_is_decided_stays_so_when_more_is_known(
    text: str, values: dict[str, Any], path: str, value: Any
) -> None:
    try:
        run = parse(text).evaluator(known_releases)
    except ExpressionError:
        return
    before = run({**values, path: U})
    after = run({**values, path: value})
    assert before is U or after is U or bool(before) is bool(after)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expression = parse(text, derived_names())
    except ExpressionError:
        return
    assert isinstance(expression, Expression)
