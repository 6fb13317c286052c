"""Real recipes: what the reader says of them against what they are when they are built.

Needs a checkout of Megatron-Bridge (MBRIDGE_SKILLS_UPSTREAM) and the values of its recipes
(MBRIDGE_SKILLS_RECIPE_VALUES); without them nothing is collected.
"""

import json
import os
import time
from pathlib import Path

import pytest

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.readers import read

TREE = os.environ.get("MBRIDGE_SKILLS_UPSTREAM")
VALUES = os.environ.get("MBRIDGE_SKILLS_RECIPE_VALUES")
BUDGET_S = 3.0


@pytest.fixture(scope="module")
def recipes():
    source = Path(TREE) / "src"
    found = {}
    for file in sorted((source / "megatron/bridge/recipes").rglob("*.py")):
        module = ".".join(file.relative_to(source).with_suffix("").parts)
        found.update({f"{module}.{config.name}": config for config in read(file)})
    return found


if TREE and VALUES:
    RECIPES = json.loads(Path(VALUES).read_text())["recipes"]

    @pytest.mark.parametrize("name", RECIPES)
    def test_a_value_is_right_or_unknown(name, recipes):
        config = recipes.get(name)
        if config is None:  # all of it is set in another module: nothing is said of it here
            return
        for path, real in RECIPES[name]["fields"].items():
            if path in config.settings and config.settings[path].value is not UNKNOWN and real != "<absent>":
                assert config.settings[path].value == real, path


if TREE:

    def test_all_recipes_are_read_in_time():
        begin = time.perf_counter()
        for file in (Path(TREE) / "src/megatron/bridge/recipes").rglob("*.py"):
            read(file)
        assert time.perf_counter() - begin < BUDGET_S
