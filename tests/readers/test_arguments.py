import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.errors import InputError
from mbridge_skills.readers.arguments import MEGATRON_DEFAULTS, read_arguments
from mbridge_skills.readers.flags import megatron_flags, performance_flags
from mbridge_skills.readers.layer import SECTIONS


def values(text):
    (config,) = read_arguments(text)
    return {
        path: setting.value
        for path, setting in config.settings.items()
        if setting.origin.note != "default of Megatron-LM's arguments"
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--use-megatron-fsdp", {"ddp.use_megatron_fsdp": True}),
        ("--use-torch-fsdp2", {"dist.use_torch_fsdp2": True}),
        ("--ckpt-format torch_dist", {"checkpoint.ckpt_format": "torch_dist"}),
        ("--ckpt-format=torch_dist", {"checkpoint.ckpt_format": "torch_dist"}),
        ("--tensor-model-parallel-size 2", {"model.tensor_model_parallel_size": 2}),
        ("--no-save-optim", {"checkpoint.save_optim": False}),
        ("--no-gradient-accumulation-fusion", {"model.gradient_accumulation_fusion": False}),
        ("--use-nccl-ub", {"ddp.nccl_ub": True}),
        ("--accumulate-allreduce-grads-in-fp32", {"ddp.grad_reduce_in_fp32": True}),
        ("--bf16", {"model.bf16": True, "optimizer.bf16": True}),
        ("--seq-length 8", {"model.seq_length": 8, "dataset.seq_length": 8}),
        ("--lr 1e-4", {"optimizer.lr": 1e-4}),
        ("--main-grads-dtype bf16", {"optimizer.main_grads_dtype": "torch.bfloat16"}),
        ("--recompute-modules core_attn moe", {"model.recompute_modules": ["core_attn", "moe"]}),
        ("--recompute-activations", {"model.recompute_granularity": "selective"}),
        ("--lr 1 --lr 2", {"optimizer.lr": 2.0}),
        ("-tp 2", {"model.tensor_model_parallel_size": 2}),
        ("-vp None", {"model.virtual_pipeline_model_parallel_size": None}),
        ("--nccl_ub true", {"ddp.nccl_ub": True, "ddp.average_in_collective": False}),
        ("--save_dir /x", {"checkpoint.save": "/x"}),
        (
            "--recompute_modules a,b",
            {"model.recompute_modules": ["a", "b"], "model.recompute_granularity": "selective"},
        ),
        ("ddp.nccl_ub=true", {"ddp.nccl_ub": True}),
        ("--recipe x ddp.nccl_ub=true", {"ddp.nccl_ub": True}),
    ],
)
def test_what_flags_set(text, expected):
    assert values(text) == expected


def test_the_fsdp_flag_of_the_performance_scripts_sets_more():
    assert values("--use_megatron_fsdp true") == {
        "ddp.use_megatron_fsdp": True,
        "ddp.data_parallel_sharding_strategy": "optim_grads_params",
        "ddp.keep_fp8_transpose_cache": False,
        "ddp.average_in_collective": False,
        "model.init_model_with_meta_device": True,
        "model.gradient_accumulation_fusion": True,
        "checkpoint.load": None,
    }


def test_flags_of_the_performance_scripts_win_over_overrides():
    assert (
        values("--use_megatron_fsdp yes ddp.average_in_collective=true")["ddp.average_in_collective"] is False
    )


@pytest.mark.parametrize("word", ["false", "0", "no"])
def test_a_false_word_sets_nothing(word):
    assert values(f"--use_megatron_fsdp {word}") == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "train.py",
        "--unheard-of 3",
        "--unheard-of --also",
        "# --use-megatron-fsdp",
        "use-megatron-fsdp",
        "FOO=1",
        "unknown.section=1",
        "--use-megatron-fsdpx",
        "---use-megatron-fsdp",
        "-3",
        "--nproc_per_node 8",
        "--mock-data",
        "--recipe llama",
    ],
)
def test_what_sets_nothing(text):
    assert read_arguments(text) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("--tensor-model-parallel-size x", "model.tensor_model_parallel_size"),
        ("--tensor-model-parallel-size", "model.tensor_model_parallel_size"),
        ("--ckpt-format --bf16", "checkpoint.ckpt_format"),
        ("--num-layers-per-virtual-pipeline-stage 2", "model.virtual_pipeline_model_parallel_size"),
        ("--main-grads-dtype fp4", "optimizer.main_grads_dtype"),
        ("--use_megatron_fsdp maybe", "ddp.use_megatron_fsdp"),
        ("--use_megatron_fsdp maybe", "ddp.average_in_collective"),
        ("--lr \ue000", "optimizer.lr"),
        ("--save /x/\ue000", "checkpoint.save"),
    ],
)
def test_values_left_unknown(text, path):
    assert values(text)[path] is UNKNOWN


def test_a_word_that_is_not_known_may_set_anything():
    (config,) = read_arguments("--bf16 \ue000")
    assert config.covers("ddp.nccl_ub")


def test_megatrons_arguments_have_defaults_of_their_own():
    (config,) = read_arguments("--bf16")
    assert {path: config.settings[path].value for path in MEGATRON_DEFAULTS} == MEGATRON_DEFAULTS
    assert not config.opaque


def test_a_recipe_below_is_unknown():
    (config,) = read_arguments("--recipe x -tp 2")
    assert config.covers("ddp.data_parallel_sharding_strategy")


def test_world_size_of_the_performance_scripts():
    (config,) = read_arguments("-ng 16 -tp 2")
    assert config.world_size == 16


def test_origins():
    (config,) = read_arguments("--bf16 \\\n  --lr 3")
    assert (config.settings["optimizer.lr"].origin.line, config.settings["optimizer.lr"].origin.column) == (
        2,
        3,
    )


def test_an_open_quotation_is_an_error():
    with pytest.raises(InputError, match="not closed"):
        read_arguments("--save 'x")


def test_the_tables_name_paths_of_the_container():
    for flag in [*megatron_flags().values(), *performance_flags().values()]:
        for path in (*flag.paths, *(path for path, _ in flag.implies)):
            assert path.split(".")[0] in SECTIONS or path == "@world_size", flag


@given(
    st.lists(
        st.sampled_from(
            ["--bf16", "-tp", "2", "--lr", "=", "\ue000", "a.b=1", "ddp.x=[", "--recompute-modules"]
        )
    )
)
def test_any_words_are_read(words):
    read_arguments(words)
