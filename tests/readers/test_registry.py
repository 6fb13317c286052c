from pathlib import Path

import pytest

from mbridge_skills.errors import InputError
from mbridge_skills.readers import kind_of, read, read_text


@pytest.mark.parametrize(("name", "kind"), [("a.yaml", "yaml"), ("a.YML", "yaml"), ("a.args", "arguments")])
def test_kinds_by_name(name, kind):
    assert kind_of(Path(name)) == kind


@pytest.mark.parametrize("name", ["a.txt", "a.md", "missing"])
def test_no_kind(name):
    assert kind_of(Path(name)) is None


def test_kind_by_first_line(tmp_path):
    file = tmp_path / "launch"
    file.write_text("echo\n")
    assert kind_of(file) is None
    file.write_text("#!/usr/bin/env python3\n")
    assert kind_of(file) == "python"
    file.write_text("#!/bin/bash -l\n")
    assert kind_of(file) == "shell"


def test_a_file_is_read(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("ddp: {nccl_ub: true}\n")
    (config,) = read(file)
    assert config.source == file
    assert config.name == "a"


def test_errors(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("x")
    with pytest.raises(InputError, match="not a file that settings are read from"):
        read(file)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "b.yaml")
    with pytest.raises(InputError, match="no reader"):
        read_text("toml", "")
