import subprocess

import pytest

from mbridge_skills.checking.sources import collect
from mbridge_skills.errors import InputError

RECIPE = """
def recipe():
    cfg = ConfigContainer()
    cfg.ddp.use_megatron_fsdp = True
    return cfg
"""


@pytest.fixture
def write(tmp_path):
    def make(name: str, text: str = RECIPE):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return make


def values(config):
    return {path: setting.value for path, setting in config.settings.items()}


def test_files_of_one_kind_are_judged_by_themselves(write):
    found = collect([write("one.py"), write("two.py")])
    assert (found.files, len(found.configs)) == (2, 2)


def test_files_of_different_kinds_are_layers(write):
    script = write("run.sh", "python train.py --ckpt-format fsdp_dtensor\n")
    over = write("over.yaml", "checkpoint:\n  ckpt_format: torch_dist\n  save: /ckpt\n")
    found = collect([script, write("train.py"), over])
    (config,) = found.configs
    assert values(config)["ddp.use_megatron_fsdp"] is True
    assert values(config)["checkpoint.save"] == "/ckpt"
    assert values(config)["checkpoint.ckpt_format"] == "fsdp_dtensor", "the command line wins"


def test_overrides_go_on_top_of_each(write):
    found = collect([write("one.py"), write("two.py")], "ddp.use_megatron_fsdp=false checkpoint.save=/x")
    assert [values(config)["ddp.use_megatron_fsdp"] for config in found.configs] == [False, False]


def test_a_broken_file_does_not_stop_the_others(write):
    broken = write("broken.py", "def f(:\n")
    found = collect([broken, write("good.py")])
    assert len(found.configs) == 1
    ((path, line),) = [(each.path, each.line) for each in found.unreadable]
    assert (path, line) == (broken, 1)


def test_a_folder_is_walked(write, tmp_path):
    write("recipes/one.py")
    write("recipes/deep/two.py")
    write("recipes/notes.txt", "no settings")
    write("recipes/__pycache__/three.py")
    assert collect([tmp_path / "recipes"]).files == 2


def test_what_git_ignores_is_left_alone(write, tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(".gitignore", "ignored/\n")
    write("ignored/one.py")
    write("kept.py")
    assert collect([tmp_path]).files == 1


def test_a_missing_path(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        collect([tmp_path / "nothing.py"])


def test_a_folder_without_anything_to_read(tmp_path):
    with pytest.raises(InputError, match="no file that settings are read from"):
        collect([tmp_path])


def test_nothing_is_run(write, tmp_path):
    canary = tmp_path / "canary"
    write("train.py", f"import pathlib\npathlib.Path({str(canary)!r}).touch()\n" + RECIPE)
    write("run.sh", f"touch {canary}\n$(touch {canary}) `touch {canary}`\npython train.py\n")
    collect([tmp_path])
    assert not canary.exists()
