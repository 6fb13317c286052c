import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.errors import InputError
from mbridge_skills.readers.overrides import Override, parse_override, parse_value, read_overrides


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("TRUE", True),
        ("null", None),
        ("NULL", None),
        ("None", "None"),  # Hydra has no None
        ("yes", "yes"),
        ("2", 2),
        ("-1", -1),
        ("10_000", 10000),
        ("1e-4", 1e-4),
        (".5", 0.5),
        ("5.", 5.0),
        ("inf", math.inf),
        ("", ""),
        ("fsdp_dtensor", "fsdp_dtensor"),
        ("/path/to x", "/path/to x"),
        ("'9999,8,2'", "9999,8,2"),
        ('"a \\" b"', 'a " b'),
        ("[]", []),
        ("[1, 2.5, x, null]", [1, 2.5, "x", None]),
        ("[[a,b],null]", [["a", "b"], None]),
        ("{a: 1, 'b c': [2]}", {"a": 1, "b c": [2]}),
        ("1.2.3", "1.2.3"),
        ("0x10", "0x10"),
        ("a=b", "a=b"),
        ("E|(t|)*3", "E|(t|)*3"),
    ],
)
def test_the_value_that_hydra_gives(text, value):
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "1,2",  # a sweep
        "a,b",
        "choice(1,2)",
        "range(1, 5)",
        "${model.tp}",
        "x${y}",
        "[1",
        "[1 2]x",
        "{a}",
        "{:1}",
        "'open",
        "[" * 40 + "]" * 40,
        "\ue000",
        "4\ue000",
    ],
)
def test_a_value_that_depends_on_more_is_unknown(text):
    assert parse_value(text) is UNKNOWN


@pytest.mark.parametrize(
    ("text", "override"),
    [
        ("ddp.use_megatron_fsdp=true", Override("ddp.use_megatron_fsdp", True)),
        ("+model.x=1", Override("model.x", 1)),
        ("++model.x=1", Override("model.x", 1)),
        ("~peft", Override("peft", None, deletes=True)),
        ("~peft=lora", Override("peft", "lora", deletes=True)),
        ("comm_overlap=null", Override("comm_overlap", None)),
    ],
)
def test_an_override(text, override):
    assert parse_override(text) == override


@pytest.mark.parametrize(
    "text", ["", "x", "=1", "1x=2", "a..b=1", ".a=1", "a.=1", "--a=1", "-a=1", "a-b=1", "#a=1", "+"]
)
def test_no_override(text):
    assert parse_override(text) is None


def test_later_overrides_win_and_dictionaries_are_split():
    (config,) = read_overrides("ddp.nccl_ub=true 'ddp={nccl_ub: false, bucket_size: 3}' 'env_vars={A: 1}'")
    assert {path: setting.value for path, setting in config.settings.items()} == {
        "ddp.nccl_ub": False,
        "ddp.bucket_size": 3,
        "env_vars": {"A": 1},
    }
    assert config.environment["A"].value == "1"


def test_replacing_a_section_by_null_forgets_what_was_in_it():
    (config,) = read_overrides("comm_overlap.tp_comm_overlap=true comm_overlap=null")
    assert set(config) == {"comm_overlap"}


def test_a_value_below_a_single_value_makes_it_a_section():
    (config,) = read_overrides("comm_overlap=null comm_overlap.tp_comm_overlap=true")
    assert set(config) == {"comm_overlap.tp_comm_overlap"}


def test_a_variable_of_the_recipe():
    (config,) = read_overrides("env_vars.A=1")
    assert config.environment["A"].value == "1"


def test_a_deleted_section_is_unknown_and_not_its_default():
    (config,) = read_overrides("ddp.nccl_ub=true ~ddp")
    assert config.settings["ddp.nccl_ub"].value is UNKNOWN
    assert config.covers("ddp.use_megatron_fsdp")


def test_what_overrides_are_laid_on_is_unknown():
    (config,) = read_overrides("ddp.nccl_ub=true")
    assert config.covers("ddp.use_megatron_fsdp")
    assert not config.covers("ddp.nccl_ub")


def test_origins_have_line_and_column():
    (config,) = read_overrides("a.b=1 \\\n   'c.d=x y'")
    assert (config.settings["a.b"].origin.line, config.settings["a.b"].origin.column) == (1, 1)
    assert (config.settings["c.d"].origin.line, config.settings["c.d"].origin.column) == (2, 4)
    assert config.settings["c.d"].value == "x y"


@pytest.mark.parametrize("text", ["ddp.nccl_ub", "a.b=1 --flag", "'a.b=1"])
def test_what_is_no_override_is_an_error(text):
    with pytest.raises(InputError):
        read_overrides(text)


def test_no_words_are_no_configuration():
    assert read_overrides(" # a.b=1") == []


def test_single_overrides_are_not_split():
    (config,) = read_overrides(["checkpoint.save=/a b"])
    assert config.settings["checkpoint.save"].value == "/a b"


@given(st.text(alphabet="ab.=+~[]{}'\",: \\1e-$()#\n\ue000", max_size=40))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(InputError):
        read_overrides(text)
