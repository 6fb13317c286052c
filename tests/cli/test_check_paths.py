import json
from pathlib import Path

import pytest

from mbridge_skills.cli.main import run

ROOT = Path(__file__).parents[2]
WRONG = "ddp:\n  use_megatron_fsdp: true\ncheckpoint:\n  save: /ckpt\n  ckpt_format: torch_dist\n"
RIGHT = WRONG.replace("torch_dist", "fsdp_dtensor")


@pytest.fixture
def check(capsys, tmp_path):
    """Check files given as name -> text; gives exit code, output and errors."""

    def start(files: dict[str, str], *words: str):
        paths = []
        for name, text in files.items():
            (tmp_path / name).write_text(text)
            paths.append(str(tmp_path / name))
        code = run(["run", "check", "--bundle", str(ROOT), "--bridge-version", "0.6.2", *paths, *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return start


def test_found(check):
    code, out, _ = check({"over.yaml": WRONG})
    assert code == 1
    assert "over.yaml:5:3: MB101 error: Megatron FSDP saves and loads only fsdp_dtensor checkpoints" in out
    assert "requires the fsdp_dtensor checkpointing format!" in out
    assert 'checkpoint.ckpt_format = "fsdp_dtensor" (safe)' in out
    assert "judged for Megatron-Bridge 0.6.2 / megatron-core 0.19.2" in out


def test_nothing_found(check):
    code, out, _ = check({"over.yaml": RIGHT}, "--select", "MB1")
    assert code == 0
    assert "0 findings" in out


def test_overrides_decide(check):
    assert check({"over.yaml": WRONG}, "--select", "MB101")[0] == 1
    words = ["--select", "MB101", "--overrides", "checkpoint.ckpt_format=fsdp_dtensor"]
    assert check({"over.yaml": WRONG}, *words)[0] == 0


@pytest.mark.parametrize("words", [["--ignore", "MB1,MB2"], ["--select", "MB9"], ["--exit-zero"]])
def test_what_turns_the_exit_code(check, words):
    assert check({"over.yaml": WRONG}, *words)[0] == 0


@pytest.mark.parametrize("form", ["text", "concise", "json", "sarif", "junit", "github"])
def test_every_format_names_the_code(check, form):
    code, out, _ = check({"over.yaml": WRONG}, "--format", form)
    assert code == 1
    assert "MB101" in out


def test_json_stands_alone(check):
    _, out, _ = check({"over.yaml": WRONG}, "--format", "json")
    record = json.loads(out)
    assert record["format"] == "mbridge-skills-check/1"


def test_a_broken_file_is_an_error_and_the_others_are_judged(check):
    code, out, _ = check({"broken.py": "def f(:\n", "over.yaml": WRONG}, "--format", "concise")
    assert code == 2
    assert "broken.py:1" in out
    assert "MB101" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name what to check"),
        (["--batch", "x.jsonl", "y.yaml"], "name what to check"),
        (["/no/such/file.py"], "no such file or folder"),
        (["--env", "NAME", "x.py"], "expected NAME=VALUE"),
        (["--bridge-version", "newest", "x.py"], "newest"),
        (["--format", "xml", "x.py"], "'xml' is not one of"),
    ],
)
def test_refused(capsys, words, message):
    assert run(["run", "check", "--bundle", str(ROOT), *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
