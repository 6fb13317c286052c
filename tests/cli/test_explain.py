from __future__ import annotations

import json
from pathlib import Path

import pytest

from mbridge_skills.cli.explain import FAMILIES, command
from mbridge_skills.errors import InputError
from mbridge_skills.gotchas.load import load_gotchas

ROOT = Path(__file__).parents[2]
GOTCHAS = load_gotchas(ROOT / "skills" / "nemo-mbridge-perf-megatron-fsdp")


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def explain(capsys: pytest.CaptureFixture[str], *words: str, bundle: Path = ROOT) -> str:
    command.main(["--bundle", str(bundle), *words], standalone_mode=False)
    return capsys.readouterr().out


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = explain(capsys, "MB101")
    assert page.startswith("MB101 Megatron FSDP saves and loads only fsdp_dtensor checkpoints\n")
    assert "error, proved, phase: validation\nReleases: all\n" in page
    assert 'Fix (safe)\n  checkpoint.ckpt_format = "fsdp_dtensor"\n' in page
    assert "- megatron-bridge <0.5: AssertionError: Megatron FSDP only supports" in page
    for part in ("When\n", "Raises\n", "Sources\n", "Verified on\n", "Library recipes set a folder"):
        assert part in page


def test_case_does_not_matter(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(capsys, " mb101 ") == explain(capsys, "MB101")


@pytest.mark.parametrize("gotcha", GOTCHAS, ids=lambda gotcha: gotcha.code)
def test_every_page(capsys: pytest.CaptureFixture[str], gotcha: object) -> None:
    code = gotcha.code  # type: ignore[attr-defined]
    page = explain(capsys, code)
    words = " ".join(page.split())
    assert " ".join(gotcha.title.split()) in words  # type: ignore[attr-defined]
    for text in (*gotcha.sources, *gotcha.verified_on, *(gotcha.fix.settings if gotcha.fix else ())):  # type: ignore[attr-defined]
        assert " ".join(text.split()) in words
    for line in page.splitlines():
        assert len(line) <= 80 or max(map(len, line.split())) > 70, line
    data = json.loads(explain(capsys, code, "--format", "json"))
    assert (data["format"], data["code"]) == ("skill-explain/1", code)


def test_silent_changes_and_releases(capsys: pytest.CaptureFixture[str]) -> None:
    page = explain(capsys, "MB220")
    assert "Changed silently\n  ddp.average_in_collective becomes False\n" in page
    assert "model.pipeline_dtype becomes what model.params_dtype is" in explain(capsys, "MB321")
    page = explain(capsys, "MB501")
    assert "Releases: megatron-bridge >=0.5\n" in page
    assert "Of the known Megatron-Bridge releases: 0.5.0, 0.5.1, 0.6.0, 0.6.2\n" in page
    assert "Fix (safe)\n  export CUDA_DEVICE_MAX_CONNECTIONS=8\n" in page


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(explain(capsys, "MB101", "--format", "json"))
    assert data["fix"] == {
        "set": {"checkpoint.ckpt_format": "fsdp_dtensor"},
        "env": {},
        "safe": True,
        "note": None,
    }
    assert data["raises"][0]["applies"] == {"megatron-bridge": "<0.5"}


def test_texts_are_no_markup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "a-skill"
    (folder / "gotchas").mkdir(parents=True)
    (folder / "SKILL.md").write_text("x\n")
    (folder / "gotchas" / "MB199-made-up.md").write_text(
        "---\ncode: MB199\ntitle: A [bold]title[/bold] [/x]\nseverity: warning\nconfidence: inferred\n"
        "when: ddp.use_megatron_fsdp\neffect: {phase: save}\nfix:\n  set: {ddp.use_megatron_fsdp: false}\n"
        "  env: {NAME: null}\n  safe: false\n  note: Look [red]twice[/red].\nsources: ['[link]a']\n---\n\n"
        "Some [red]text[/red].\n\n- an item\n- another\n"
    )
    page = explain(capsys, "MB199", bundle=tmp_path)
    assert "A [bold]title[/bold] [/x]" in page
    assert "Some [red]text[/red].\n\n- an item\n- another\n" in page
    assert "Fix (not safe: it changes what was asked for)\n  ddp.use_megatron_fsdp = False\n" in page
    assert "  unset NAME\n  Look [red]twice[/red].\n" in page


def test_unknown_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError) as caught:
        explain(capsys, "MB1O1")
    assert "no gotcha has the code 'MB1O1'" in str(caught.value)
    assert "did you mean MB" in str(caught.value)
    assert "MB1xx checkpoints, MB2xx sharding and optimizer" in str(caught.value)
    with pytest.raises(InputError) as caught:
        explain(capsys, "hello")
    assert "did you mean" not in str(caught.value)


def test_every_gotcha_has_a_family() -> None:
    assert {gotcha.code[:3] for gotcha in GOTCHAS} <= set(FAMILIES)
