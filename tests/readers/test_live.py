import enum
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.readers import read_container


class Backend(enum.Enum):
    auto = 5


@dataclass
class Section:
    a: Any = 1
    b: Any = None
    _private: int = 3


@dataclass
class Container:
    ddp: Section = field(default_factory=Section)
    comm_overlap: Section | None = None
    env_vars: dict[str, Any] = field(default_factory=dict)
    mixed_precision: Any = "bf16_mixed"


def values(config):
    return {path: setting.value for path, setting in config.settings.items()}


def test_fields_are_dotted_paths():
    config = read_container(Container(ddp=Section(a=2)))
    assert values(config) == {
        "ddp.a": 2,
        "ddp.b": None,
        "comm_overlap": None,
        "env_vars": {},
        "mixed_precision": "bf16_mixed",
    }
    assert not config.opaque
    assert str(config.settings["ddp.a"].origin) == "live configuration"


def test_an_optional_section_has_its_class_as_value():
    config = read_container(Container(comm_overlap=Section(a=2)))
    assert values(config)["comm_overlap"] == "Section"
    assert values(config)["comm_overlap.a"] == 2


def test_environment_variables():
    config = read_container(Container(env_vars={"A": 1}))
    assert config.environment["A"].value == "1"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Backend.auto, "auto"),
        (Path("/x"), "/x"),
        ((1, 2), [1, 2]),
        ({"a": [1]}, {"a": [1]}),
        (len, UNKNOWN),
        (object(), UNKNOWN),
        ([object()], UNKNOWN),
        ({1: 2}, UNKNOWN),
        ({"a": len}, UNKNOWN),
        (Section, UNKNOWN),
        (b"x", UNKNOWN),
    ],
)
def test_values(value, plain):
    assert read_container(Container(ddp=Section(a=value))).settings["ddp.a"].value == plain


def test_a_section_in_itself_ends():
    section = Section()
    section.a = section
    assert read_container(Container(ddp=section)).covers("ddp.a.a")


def test_a_property_that_fails_is_unknown():
    @dataclass
    class Broken:
        a: int = 1

        def __getattribute__(self, name):
            if name == "a":
                raise RuntimeError("not yet")
            return super().__getattribute__(name)

    assert read_container(Container(ddp=Broken())).covers("ddp.a")


@pytest.mark.parametrize("value", [None, 3, {}, Container])
def test_only_instances_of_dataclasses(value):
    with pytest.raises(TypeError, match="expected a ConfigContainer"):
        read_container(value)
