import pytest

from mbridge_skills.config.view import UNKNOWN, Origin, Setting, TrainingConfig
from mbridge_skills.readers import combine


def layer(settings, opaque=(), environment=None, **more):
    origin = Origin(note="test")
    return TrainingConfig(
        "x",
        None,
        {path: Setting(value, origin) for path, value in settings.items()},
        {name: Setting(value, origin) for name, value in (environment or {}).items()},
        frozenset(opaque),
        **more,
    )


def test_later_layers_win():
    config = combine([layer({"a.b": 1, "a.c": 1}), layer({"a.b": 2}, [""]), layer({"a.b": 3}, [""])], "all")
    assert {path: setting.value for path, setting in config.settings.items()} == {"a.b": 3, "a.c": 1}
    assert config.name == "all"


def test_a_later_layer_does_not_hide_what_it_is_laid_on():
    assert not combine([layer({}), layer({"a.b": 2}, [""])]).opaque


def test_the_first_layer_stays_opaque():
    assert combine([layer({}, [""]), layer({"a.b": 2}, [""])]).covers("a.c")


def test_an_opaque_section_makes_earlier_settings_unknown():
    config = combine([layer({"a.b": 1, "ab": 1}), layer({}, ["a"])])
    assert config.settings["a.b"].value is UNKNOWN
    assert config.settings["ab"].value == 1
    assert config.covers("a.c")


def test_a_replaced_section_goes():
    assert set(combine([layer({"a.b": 1}), layer({"a": None})])) == {"a"}


def test_environment_world_size_device_and_conditions():
    config = combine(
        [
            layer({}, environment={"A": "1", "B": "1"}, world_size=8, conditions=("x",)),
            layer({}, environment={"A": None}, device_capability=(9, 0), conditions=("x", "y")),
        ]
    )
    assert {name: setting.value for name, setting in config.environment.items()} == {"A": None, "B": "1"}
    assert (config.world_size, config.device_capability, config.conditions) == (8, (9, 0), ("x", "y"))


def test_no_layers():
    with pytest.raises(ValueError, match="no layers"):
        combine([])
