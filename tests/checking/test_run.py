from pathlib import Path

import pytest

from mbridge_skills.bundle.locate import find_bundle
from mbridge_skills.checking.run import Selection, Surroundings, check
from mbridge_skills.checking.sources import collect
from mbridge_skills.gotchas.judge import Judge
from mbridge_skills.gotchas.load import load_gotchas
from mbridge_skills.releases.detect import find_stack

WHOLE = """
from megatron.bridge.training.config import CheckpointConfig, ConfigContainer
from megatron.bridge.training.config import DistributedDataParallelConfig, DistributedInitConfig

def recipe():
    return ConfigContainer(
        ddp=DistributedDataParallelConfig(use_megatron_fsdp=True),
        dist=DistributedInitConfig(use_megatron_fsdp=True),
        checkpoint=CheckpointConfig(save="/ckpt", ckpt_format={format!r}),
    )
"""
FROM_ELSEWHERE = """
from somewhere import base

def recipe():
    cfg = base()
    cfg.ddp.use_megatron_fsdp = True
    cfg.checkpoint.save = "/ckpt"
    return cfg
"""


@pytest.fixture(scope="module")
def gotchas():
    return load_gotchas(find_bundle(None).skill().folder)


@pytest.fixture
def run(gotchas, tmp_path):
    """Check one file's text; gives the report."""

    def start(text, name="train.py", bridge="0.6.2", around=Surroundings(), **selection):  # noqa: B008
        path = tmp_path / name
        path.write_text(text)
        stack = find_stack(bridge, None, tmp_path)
        judge = Judge(gotchas, stack.release, versions=stack.others)
        return check(collect([path]), judge, stack, around, Selection(**selection))

    return start


def codes(report):
    return {each.code for each in report.findings if not each.possible}


def test_a_wrong_format_is_found_where_it_is_set(run):
    report = run(WHOLE.format(format="torch_dist"))
    (found,) = [each for each in report.findings if each.code == "MB101"]
    assert not found.possible
    assert found.origin.line == 9
    assert found.origin.path.name == "train.py"
    assert found.finding.message == "Megatron-FSDP requires the fsdp_dtensor checkpointing format!"


def test_the_message_is_that_of_the_release(run):
    report = run(WHOLE.format(format="torch_dist"), bridge="0.4.2")
    (found,) = [each for each in report.findings if each.code == "MB101"]
    assert found.finding.message == "Megatron FSDP only supports fsdp_dtensor checkpoint format"


def test_the_right_format_is_left_alone(run):
    assert "MB101" not in codes(run(WHOLE.format(format="fsdp_dtensor")))


def test_a_default_that_may_be_changed_elsewhere_is_possible(run):
    report = run(FROM_ELSEWHERE)
    (found,) = [each for each in report.findings if each.code == "MB101"]
    assert found.possible
    assert "checkpoint.ckpt_format" in found.unknowns


def test_what_needs_more_than_a_default_is_left_out_and_counted(run):
    report, everything = run(FROM_ELSEWHERE), run(FROM_ELSEWHERE, all_possible=True)
    assert report.unlikely > 0
    assert everything.unlikely == 0
    assert len(everything.findings) == len(report.findings) + report.unlikely


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        ({}, True),
        ({"select": ("MB1",)}, True),
        ({"select": ("MB2",)}, False),
        ({"ignore": ("MB101",)}, False),
        ({"select": ("MB1",), "ignore": ("MB10",)}, False),
    ],
)
def test_selection(run, selection, found):
    assert ("MB101" in codes(run(WHOLE.format(format="torch_dist"), **selection))) is found


def test_a_suppressed_finding_is_counted(run):
    text = WHOLE.format(format="torch_dist").replace(
        "ckpt_format='torch_dist'),", "ckpt_format='torch_dist'),  # skill: ignore[MB101] never saved"
    )
    report = run(text)
    assert "MB101" not in codes(report)
    assert report.suppressed == 1


def test_the_environment_given_wins(run):
    around = Surroundings(environment={"CUDA_DEVICE_MAX_CONNECTIONS": "1"})
    assert "MB501" in codes(run(WHOLE.format(format="fsdp_dtensor"), around=around))
    around = Surroundings(environment={"CUDA_DEVICE_MAX_CONNECTIONS": "8"})
    assert "MB501" not in codes(run(WHOLE.format(format="fsdp_dtensor"), around=around))


def test_a_launch_script(run):
    text = "export CUDA_DEVICE_MAX_CONNECTIONS=1\nARGS=(\n  --use-megatron-fsdp\n)\npython t.py ${ARGS[@]}\n"
    report = run(text, name="run.sh")
    assert "MB501" in codes(report)
    assert (report.configs, report.files) == (1, 1)


def test_a_file_without_settings(run):
    report = run("print('hello')\n")
    assert (report.configs, report.findings) == (0, ())


def test_the_bundles_own_examples_are_read(gotchas):
    assert all(isinstance(gotcha.path, Path) for gotcha in gotchas)
