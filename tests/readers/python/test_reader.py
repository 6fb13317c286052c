import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.errors import InputError
from mbridge_skills.readers.python import read_python

HEAD = """\
import os
import copy
import dataclasses
import torch
from megatron.bridge.recipes.llama import llama3_8b_pretrain_config
from megatron.bridge.training.config import CheckpointConfig, ConfigContainer, TrainingConfig
from megatron.core.distributed import DistributedDataParallelConfig

TP = 2
"""


def read_all(body):
    return read_python(HEAD + textwrap.dedent(body), Path("recipe.py"))


def read_body(body):
    """The view of a function with ``body``, in which ``cfg`` is a recipe of another module."""
    text = "def recipe(flag, n=4):\n    cfg = llama3_8b_pretrain_config()\n"
    (config,) = read_all(text + textwrap.indent(textwrap.dedent(body), "    ") + "\n    return cfg\n")
    return config


def values(config):
    return {path: setting.value for path, setting in config.settings.items()}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("cfg.ddp.use_megatron_fsdp = True", {"ddp.use_megatron_fsdp": True}),
        ("cfg.ddp.a = cfg.ddp.b = 1", {"ddp.a": 1, "ddp.b": 1}),
        ("cfg.ddp.a: int = 1", {"ddp.a": 1}),
        ("ddp = cfg.ddp\nddp.a = 1", {"ddp.a": 1}),
        ("other = cfg\nother.ddp.a = 1", {"ddp.a": 1}),
        ("cfg.ddp.a = 1\ncfg.ddp.a = 2", {"ddp.a": 2}),
        ("cfg.model.tp = TP * 4", {"model.tp": 8}),
        ("cfg.model.tp = n", {"model.tp": 4}),
        ("cfg.model.tp = 2\ncfg.model.pp = cfg.model.tp + 1", {"model.tp": 2, "model.pp": 3}),
        ("cfg.model.tp = 2\ncfg.model.tp += 1", {"model.tp": 3}),
        ("cfg.model.dtype = torch.float32", {"model.dtype": "torch.float32"}),
        ("name = 'x'\ncfg.checkpoint.save = f'/ckpt/{name}-{TP}'", {"checkpoint.save": "/ckpt/x-2"}),
        ("cfg.checkpoint.save = os.path.join('/a', 'b')", {"checkpoint.save": "/a/b"}),
        ("cfg.model.modules = ['a', 'b']", {"model.modules": ["a", "b"]}),
        ("cfg.model.modules = ['a']\ncfg.model.modules.append('b')", {"model.modules": ["a", "b"]}),
        ("m = []\ncfg.model.modules = m\nm.append('b')", {"model.modules": ["b"]}),
        ("setattr(cfg.ddp, 'a', 1)", {"ddp.a": 1}),
        ("for k in ('a', 'b'):\n    setattr(cfg.ddp, k, False)", {"ddp.a": False, "ddp.b": False}),
        ("a, b = 1, 2\ncfg.ddp.a, cfg.ddp.b = b, a", {"ddp.a": 2, "ddp.b": 1}),
        ("cfg.ddp.a = 1\ncfg.ddp = dataclasses.replace(cfg.ddp, b=2)", {"ddp.a": 1, "ddp.b": 2}),
        ("if TP == 2:\n    cfg.ddp.a = 1\nelse:\n    cfg.ddp.a = 2", {"ddp.a": 1}),
        ("if flag:\n    cfg.ddp.a = 1\nelse:\n    cfg.ddp.a = 1", {"ddp.a": 1}),
        ("if flag:\n    raise ValueError\ncfg.ddp.a = 1", {"ddp.a": 1}),
        ("cfg.ddp.a = 1 if TP > 1 else 0", {"ddp.a": 1}),
        ("cfg.ddp.a = 3 if flag else 3", {"ddp.a": 3}),
        ("cfg.ddp.a = TP > 1 and not False", {"ddp.a": True}),
        ("while False:\n    cfg.ddp.a = 1\ncfg.ddp.b = 1", {"ddp.b": 1}),
        ("with open('x') as f:\n    cfg.ddp.a = 1", {"ddp.a": 1}),
        ("cfg.comm_overlap = None", {"comm_overlap": None}),
        ("print(cfg)\ncfg.ddp.a = 1\nlogger = cfg.to_yaml()", {"ddp.a": 1}),
        ("cfg.model.layout = {'a': [1]}['a']", {"model.layout": [1]}),
        ("cfg.ddp.a = max(1, 2)", {"ddp.a": 2}),
        ("cfg.ddp.a = 1_000", {"ddp.a": 1000}),
        ("cfg.ddp.a = -1.5", {"ddp.a": -1.5}),
        ("del cfg.ddp.a\ncfg.ddp.a = 1", {"ddp.a": 1}),
        ("if cfg.ddp is None:\n    pass\ncfg.ddp.a = 1", {"ddp.a": 1}),
        (
            "from megatron.bridge.training.pretrain import pretrain\ncfg.ddp.a = 1\npretrain(cfg, None)",
            {"ddp.a": 1},
        ),
    ],
)
def test_what_is_set(body, expected):
    assert values(read_body(body)) == expected


@pytest.mark.parametrize(
    "body",
    [
        "cfg.ddp.a = undefined",
        "cfg.ddp.a = flag",
        "cfg.ddp.a = unknown_function()",
        "cfg.ddp.a = os.getcwd()",
        "cfg.ddp.a = os.environ.get('A')",
        "cfg.ddp.a = cfg.ddp.b",
        "cfg.ddp.a = cfg.model.tp * 2",
        "cfg.ddp.a = [x for x in range(3)]",
        "cfg.ddp.a = lambda: 1",
        "cfg.ddp.a = f'{flag}'",
        "cfg.ddp.a = f'{TP:>3}'",
        "cfg.ddp.a = [1, flag]",
        "cfg.ddp.a = 'x' * 10**9",
        "cfg.ddp.a = 10 ** 10 ** 10",
        "cfg.ddp.a = 1 / 0",
        "cfg.ddp.a = torch.cuda.device_count()",
        "cfg.ddp.a = await_ if flag else 2",
        "cfg.ddp.a = 1 if flag else 2",
        "cfg.ddp.a = True if flag else 1",
        "cfg.ddp.a = flag or 1",
        "if flag:\n    cfg.ddp.a = 1",
        "if flag:\n    cfg.ddp.a = 1\nelse:\n    cfg.ddp.a = 2",
        "if flag:\n    cfg.ddp.a = 1\nelif n > 1:\n    pass",
        "cfg.ddp.a = 0\nif flag:\n    cfg.ddp.a = 1",
        "for i in range(n):\n    cfg.ddp.a = 1",
        "cfg.ddp.a = 0\nfor i in flag:\n    cfg.ddp.a += 1",
        "cfg.ddp.a = 0\nb = 0\nfor i in flag:\n    cfg.ddp.a = b\n    b = 1",
        "while flag:\n    cfg.ddp.a = 1",
        "for i in [1, 2]:\n    if flag:\n        break\n    cfg.ddp.a = 1",
        "try:\n    cfg.ddp.a = 1\nexcept Exception:\n    pass",
        "try:\n    x = f()\nexcept Exception:\n    cfg.ddp.a = 1",
        "match flag:\n    case 1:\n        cfg.ddp.a = 1",
        "cfg.ddp.a = 1\nfrom other import tune\ntune(cfg)",
        "cfg.ddp.a = 1\nfrom other import tune\ntune(cfg.ddp)",
        "cfg.ddp.a = 1\nfrom other import tune\ntune([cfg])",
        "cfg.ddp.a = 1\nfrom other import tune\ntune(x=cfg)",
        "cfg.ddp.a = 1\ncfg.ddp.tune()",
        "cfg.ddp.a = 1\nsetattr(cfg.ddp, flag, 2)",
        "cfg.ddp.a = 1\ndef inner():\n    cfg.ddp.a = 2\ninner()",
        "cfg.ddp.a = 1\n(lambda: setattr(cfg.ddp, 'a', 2))()",
        "cfg.ddp.a = 1\ndel cfg.ddp.a",
        "m = ['x']\ncfg.ddp.a = m\nfrom other import tune\ntune(m)",
        "m = ['x']\ncfg.ddp.a = m\nm.sort()",
        "if flag:\n    cfg2 = cfg\nelse:\n    cfg2 = llama3_8b_pretrain_config()\ncfg2.ddp.a = 1\ncfg.ddp.a = cfg2.ddp.b",
        "cfg.ddp.a = 1\nif flag:\n    c = cfg\nelse:\n    c = llama3_8b_pretrain_config()\nc.ddp.a = 2",
        "cfg.ddp.a = 1\ncfg2 = cfg if flag else llama3_8b_pretrain_config()\ncfg2.ddp.a = 2",
        "cfg.ddp.a = 1\nddp = (flag or cfg).ddp\nddp.a = 2",
        "cfg.ddp.a = 1\nother = None\nif flag:\n    other = cfg\nother.ddp.a = 2",
        "global X\nX = 1\ncfg.ddp.a = Y",
        "x = 1\nif flag:\n    x = 2\ncfg.ddp.a = x",
        "if flag:\n    x = 1\ncfg.ddp.a = x",
        "cfg.ddp.a = TP if flag is None else TP + 1",
    ],
)
def test_what_is_left_unknown(body):
    config = read_body(body)
    assert config.settings["ddp.a"].value is UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1\n",
        "def f(a, b):\n    return a + b\n",
        "# cfg.ddp.use_megatron_fsdp = True\n",
        "def f():\n    '''cfg.ddp.use_megatron_fsdp = True'''\n",
        "class A:\n    def __init__(self):\n        self.model.x = 1\n",
        "def f(provider):\n    provider.tensor_model_parallel_size = 2\n",
        "def f(config):\n    return config.ddp.use_megatron_fsdp\n",
        "def f(config):\n    config.hidden_size = 3\n",
        "def f():\n    return dict(ddp=1)\n",
        "def f():\n    cfg = {}\n    cfg['ddp'] = 1\n",
    ],
)
def test_what_holds_no_configuration(text):
    assert read_python(text) == []


def test_what_another_module_made_is_opaque():
    config = read_body("cfg.ddp.a = 1")
    assert config.covers("ddp.b")
    assert config.name == "recipe"
    assert str(config.settings["ddp.a"].origin) == "recipe.py:12:5"


def test_a_container_that_is_made_here_has_defaults():
    (config,) = read_all(
        """
        def recipe():
            model = MyProvider(num_layers=2)
            model.tensor_model_parallel_size = TP
            return ConfigContainer(
                model=model,
                train=TrainingConfig(global_batch_size=8),
                ddp=DistributedDataParallelConfig(use_megatron_fsdp=True, average_in_collective=False),
                checkpoint=CheckpointConfig(ckpt_format="torch_dist", save="/x"),
                optimizer=make_optimizer(),
                mixed_precision="bf16_mixed",
                comm_overlap=None,
            )
        from other import MyProvider, make_optimizer
        """
    )
    assert values(config) == {
        "model.num_layers": 2,
        "model.tensor_model_parallel_size": 2,
        "train.global_batch_size": 8,
        "ddp.use_megatron_fsdp": True,
        "ddp.average_in_collective": False,
        "checkpoint.ckpt_format": "torch_dist",
        "checkpoint.save": "/x",
        "optimizer": UNKNOWN,
        "mixed_precision": "bf16_mixed",
        "comm_overlap": None,
    }
    assert config.opaque == {"model", "optimizer"}
    assert str(config.settings["ddp.average_in_collective"].origin) == "recipe.py:17:67"


@pytest.mark.parametrize(
    "arguments",
    ["DistributedDataParallelConfig(True)", "DistributedDataParallelConfig(**more)", "make_ddp(a=1)"],
)
def test_a_section_that_cannot_be_followed_is_opaque(arguments):
    config = read_body(f"from other import make_ddp, more\ncfg = ConfigContainer(ddp={arguments})")
    assert config.opaque == {"ddp"}


def test_an_optional_section_has_its_class_as_value():
    config = read_body(
        "from x import CommOverlapConfig\ncfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True)"
    )
    assert values(config) == {"comm_overlap": "CommOverlapConfig", "comm_overlap.tp_comm_overlap": True}


def test_an_optional_section_on_one_branch_only_is_unknown():
    config = read_body(
        "from x import CommOverlapConfig\nif flag:\n    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True)"
    )
    assert config.settings["comm_overlap"].value is UNKNOWN
    assert config.covers("comm_overlap.tp_comm_overlap")


def test_recipes_of_one_file_are_configurations_of_their_own():
    configs = read_all(
        """
        def one():
            cfg = llama3_8b_pretrain_config()
            cfg.ddp.a = 1
            return cfg

        def two():
            cfg = one()
            cfg.ddp.b = 2
            return cfg
        """
    )
    assert [(config.name, values(config)) for config in configs] == [
        ("one", {"ddp.a": 1}),
        ("two", {"ddp.a": 1, "ddp.b": 2}),
    ]


def test_helpers_of_the_file_are_followed():
    configs = read_all(
        """
        def _base(tp, *, pp=1, **more):
            cfg = llama3_8b_pretrain_config()
            cfg.model.tp = tp
            cfg.model.pp = pp
            cfg.model.cp = more["cp"]
            return cfg

        def _enable(config, on=True):
            if not on:
                return
            config.ddp.use_megatron_fsdp = on

        def recipe(**user):
            cfg = _base(**{"tp": 8, "cp": 2, **user})
            _enable(cfg)
            _enable(cfg, on=False)
            return cfg
        """
    )
    assert [(config.name, values(config)) for config in configs] == [
        ("recipe", {"model.tp": 8, "model.pp": 1, "model.cp": 2, "ddp.use_megatron_fsdp": True})
    ]


@pytest.mark.parametrize(
    "helper",
    [
        "def tune(cfg):\n    tune(cfg)",
        "def tune(cfg):\n    yield cfg",
        "async def tune(cfg):\n    pass",
        "@wrapper\ndef tune(cfg):\n    pass",
        "def tune():\n    pass",
    ],
)
def test_helpers_that_are_not_followed_may_do_anything(helper):
    configs = read_all(
        f"{helper}\n\ndef recipe():\n    cfg = llama3_8b_pretrain_config()\n    cfg.ddp.a = 1\n    tune(cfg)\n    return cfg\n"
    )
    assert configs[-1].name == "recipe"
    assert configs[-1].settings["ddp.a"].value is UNKNOWN


def test_methods_and_scripts():
    configs = read_all(
        """
        class Test:
            def setup(self):
                self.cfg = llama3_8b_pretrain_config()
                self.cfg.ddp.a = 1

        config = llama3_8b_pretrain_config()
        config.ddp.b = 2
        """
    )
    assert [(config.name, values(config)) for config in configs] == [
        ("Test.setup", {"ddp.a": 1}),
        ("recipe", {"ddp.b": 2}),
    ]


def test_copies_are_objects_of_their_own():
    config = read_body("cfg.ddp.a = 1\nother = copy.deepcopy(cfg)\nother.ddp.a = 2\ncfg.ddp.b = other.ddp.a")
    assert values(config) == {"ddp.a": 1, "ddp.b": 2}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("os.environ['A'] = '1'", {"A": "1"}),
        ("os.environ.setdefault('A', '1')", {"A": "1"}),
        ("os.environ.pop('A', None)", {"A": None}),
        ("del os.environ['A']", {"A": None}),
        ("os.environ.update({'A': '1', 'B': x})", {"A": "1", "B": UNKNOWN}),
        ("from os import environ as e\ne['A'] = '1'", {"A": "1"}),
        ("os.environ['A'] = str(TP)", {"A": "2"}),
        ("if flag:\n    os.environ['A'] = '1'", {"A": UNKNOWN}),
        ("os.environ[flag] = '1'", {}),
        ("os.environ.get('A')", {}),
        ("cfg.env_vars = {'A': 1, **common}", {"A": UNKNOWN}),
        ("cfg.env_vars = {**common, 'A': 1}", {"A": "1"}),
        ("cfg.env_vars = {'A': 1}\ncfg.env_vars['B'] = 2", {"A": "1", "B": "2"}),
    ],
)
def test_environment_variables(body, expected):
    config = read_body(f"cfg.ddp.a = 1\nfrom other import common\n{body}")
    assert {name: setting.value for name, setting in config.environment.items()} == expected


def test_the_files_own_environment_is_that_of_every_recipe():
    configs = read_all(
        "os.environ['A'] = '1'\nos.environ['WORLD_SIZE'] = '8'\ndef f(cfg):\n    cfg.ddp.a = 1\n"
    )
    assert configs[0].environment["A"].value == "1"
    assert configs[0].world_size == 8


@pytest.mark.parametrize(
    ("text", "line"), [("x = (\n", 1), ("def f(:\n", 1), ("x\n  y\n", 2), ("x = '\n", 1)]
)
def test_what_is_not_python_is_an_error_with_its_line(text, line):
    with pytest.raises(InputError, match="not valid Python") as caught:
        read_python(text, Path("x.py"))
    assert caught.value.where.line == line


@pytest.mark.parametrize("text", ["cfg\0", "(" * 500 + ")" * 500, "cfg" + ".a" * 30000, "-" * 20000 + "cfg"])
def test_hostile_files_are_refused_or_read(text):
    try:
        read_python(text, Path("x.py"))
    except InputError as error:
        assert "not" in str(error)


def test_work_is_bounded():
    lines = "".join(f"    if f{i}:\n        cfg.ddp.a{i} = {i}\n" for i in range(3000))
    (config,) = read_all(f"def recipe():\n    cfg = llama3_8b_pretrain_config()\n{lines}    return cfg\n")
    assert all(setting.value is UNKNOWN for setting in config.settings.values())


def test_nothing_is_executed(canary):
    read_python(
        f"import os\nos.system('touch {canary}')\ncfg = open({str(canary)!r}, 'w')\ncfg.ddp.a = cfg\n"
    )


LINES = st.sampled_from(
    [
        "cfg = f()",
        "cfg.ddp.a = 1",
        "x = cfg.ddp",
        "x.b = cfg",
        "cfg.ddp = x",
        "if x:",
        "else:",
        "for i in x:",
        "while x:",
        "try:",
        "except E:",
        "    cfg.ddp.a = 2",
        "    break",
        "    return cfg",
        "    cfg = x",
        "def f(a=cfg):",
        "g(cfg, *x, **x)",
        "x = [*x, cfg]",
        "x['k'] = x",
        "x, *y = cfg",
        "del x",
        "cfg.env_vars = {**x}",
        "cfg = ConfigContainer(ddp=cfg)",
        "    x = dataclasses.replace(cfg, model=cfg)",
    ]
)


@given(st.lists(LINES, max_size=14))
def test_any_lines_are_read_or_refused(lines):
    body = "\n".join(f"    {line}" for line in lines)
    for text in ("\n".join(lines), f"def recipe():\n{body}\n"):
        try:
            read_python(HEAD + text)
        except InputError as error:
            assert "not valid Python" in str(error)
