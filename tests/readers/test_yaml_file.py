import contextlib
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.errors import InputError
from mbridge_skills.readers import read_text
from mbridge_skills.readers.yaml_file import read_yaml


def read_one(text):
    (config,) = read_yaml(textwrap.dedent(text), Path("run.yaml"))
    return config


def values(config):
    return {path: setting.value for path, setting in config.settings.items()}


class TestBridgeOverrides:
    TEXT = """\
        model:
          tensor_model_parallel_size: 2
          teacher:
            seq_length: 4096
        ddp:
          use_megatron_fsdp: true
          # nccl_ub: true
        optimizer:
          lr: 1e-4
        checkpoint:
          save: "./out"
          load: null
        """

    def test_dotted_paths(self):
        assert values(read_one(self.TEXT)) == {
            "model.tensor_model_parallel_size": 2,
            "model.teacher.seq_length": 4096,
            "ddp.use_megatron_fsdp": True,
            "optimizer.lr": 1e-4,
            "checkpoint.save": "./out",
            "checkpoint.load": None,
        }

    def test_places(self):
        origin = read_one(self.TEXT).settings["ddp.use_megatron_fsdp"].origin
        assert str(origin) == "run.yaml:6:3"

    def test_the_recipe_below_is_unknown(self):
        assert read_one(self.TEXT).covers("ddp.nccl_ub")

    def test_anchors_and_merge_keys(self):
        config = read_one("model: &m\n  a: 1\n  b: 2\nddp:\n  <<: *m\n  b: 3\n")
        assert values(config) == {"model.a": 1, "model.b": 2, "ddp.a": 1, "ddp.b": 3}

    def test_an_interpolation_is_unknown(self):
        config = read_one("model:\n  tp: ${oc.env:TP}\n  pp: 1\n")
        assert config.settings["model.tp"].value is UNKNOWN

    def test_environment_variables(self):
        config = read_one("env_vars:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nddp:\n  nccl_ub: true\n")
        assert config.settings["env_vars"].value == {"CUDA_DEVICE_MAX_CONNECTIONS": 1}
        assert config.environment["CUDA_DEVICE_MAX_CONNECTIONS"].value == "1"

    def test_an_unknown_tag_is_not_constructed(self, canary):
        config = read_one(f"model:\n  a: !!python/object/apply:os.system ['touch {canary}']\n  b: !x y\n")
        assert config.settings["model.b"].value is UNKNOWN


class TestSavedConfiguration:
    TEXT = """\
        _target_: megatron.bridge.training.config.ConfigContainer
        checkpoint:
          _target_: megatron.bridge.training.config.CheckpointConfig
          ckpt_format: torch_dist
        ddp:
          _target_: megatron.bridge.training.config.DistributedDataParallelConfig
          use_megatron_fsdp: false
        model:
          _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
          pipeline_dtype:
            _call_: false
            _target_: torch.bfloat16
          attention_backend:
            _args_: [5]
            _call_: true
            _name_: auto
            _target_: megatron.core.transformer.enums.AttnBackend
          init_method:
            _args_: []
            _partial_: true
            _target_: torch.nn.init.normal_
            std: 0.02
          activation_func:
            _call_: false
            _target_: torch.nn.functional.silu
        peft: null
        """

    def test_values(self):
        assert values(read_one(self.TEXT)) == {
            "checkpoint.ckpt_format": "torch_dist",
            "ddp.use_megatron_fsdp": False,
            "model.pipeline_dtype": "torch.bfloat16",
            "model.attention_backend": "auto",
            "model.init_method": UNKNOWN,
            "model.activation_func": "torch.nn.functional.silu",
            "peft": None,
        }

    def test_it_is_complete(self):
        assert not read_one(self.TEXT).opaque


class TestMegatron:
    def test_flat(self):
        config = read_one(
            """\
            use_megatron_fsdp: true
            ckpt_format: torch_dist
            tensor_model_parallel_size: 2
            some_framework_key: 7
            no_save_optim: true
            """
        )
        assert values(config) == {
            "ddp.use_megatron_fsdp": True,
            "checkpoint.ckpt_format": "torch_dist",
            "model.tensor_model_parallel_size": 2,
        }
        assert str(config.settings["ddp.use_megatron_fsdp"].origin) == "run.yaml:1:1"
        assert config.covers("ddp.nccl_ub")

    def test_below_a_key(self):
        config = read_one(
            """\
            policy:
              name: x
              megatron_cfg:
                tensor_model_parallel_size: 4
                pipeline_model_parallel_size: 1
                gradient_accumulation_fusion: false
            """
        )
        assert config.name == "run:policy.megatron_cfg"
        assert values(config) == {
            "model.tensor_model_parallel_size": 4,
            "model.pipeline_model_parallel_size": 1,
            "model.gradient_accumulation_fusion": False,
        }

    def test_two_sections_are_two_configurations(self):
        section = "{tensor_model_parallel_size: 1, sequence_parallel: true}"
        assert [c.name for c in read_yaml(f"a: {section}\nb: {section}\n")] == ["YAML:a", "YAML:b"]

    def test_arguments_as_keys(self):
        config = read_one(
            """\
            ENV_VARS:
              CUDA_DEVICE_MAX_CONNECTIONS: 1
            MODEL_ARGS:
              --use-megatron-fsdp: true
              --overlap-grad-reduce: false
              --ckpt-format: fsdp_dtensor
              --num-layers: 12
              --no-save-optim: true
              --unheard-of: 3
            """
        )
        assert values(config) == {
            "ddp.use_megatron_fsdp": True,
            "checkpoint.ckpt_format": "fsdp_dtensor",
            "model.num_layers": 12,
            "checkpoint.save_optim": False,
        }
        assert config.environment["CUDA_DEVICE_MAX_CONNECTIONS"].value == "1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: 1",
        "- 1\n- 2",
        "just text",
        "model: gpt\nname: x",
        "model: gpt2\ntrain: true\n",
        "jobs:\n  test:\n    runs-on: x\n",
        "on: push\nenv:\n  A: 1\n",
        "lr: 0.1\nseed: 3\nsave: x\nload: y\n",  # too common to be told apart
        "tensor_model_parallel_size: 2\nname: x\n",
        "train: {a: 1}\nx: 1\ny: 2\nz: 3\n",
    ],
)
def test_other_yaml_holds_no_configuration(text):
    assert read_yaml(text) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: [1\nb: 2\n", 2), ("a: 1\n\tb: 2\n", 2), ("a: *x\n", 1), ("a: 1\nb: \x07\n", 2), ("a: 'x\n", 2)],
)
def test_what_is_not_yaml_is_an_error_with_its_line(text, line):
    with pytest.raises(InputError, match="not valid YAML") as caught:
        read_yaml(text, Path("x.yaml"))
    assert caught.value.where.line == line


def test_aliases_of_aliases_are_refused():
    text = "a0: &a0 [1]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 20)}]\n" for i in range(1, 12)
    )
    with pytest.raises(InputError, match="more values"):
        read_yaml(text, Path("x.yaml"))


def test_a_recursive_alias_is_refused():
    with pytest.raises(InputError):
        read_yaml("a: &a\n  b: *a\n", Path("x.yaml"))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda x: st.dictionaries(
            st.sampled_from(["model", "ddp", "_target_", "a", "ckpt_format"]), x, max_size=4
        ),
        max_leaves=10,
    )
)
def test_any_data_is_read(data):
    import yaml

    read_text("yaml", yaml.safe_dump(data))


@given(st.text(alphabet="ab: -[]{}&*!<>|\n'\"#%?,1\ue000", max_size=40))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(InputError):
        read_yaml(text)
