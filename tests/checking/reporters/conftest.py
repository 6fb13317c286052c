from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.checking.report import CheckReport, Located, Unreadable
from mbridge_skills.config.view import Origin
from mbridge_skills.gotchas.expression import parse
from mbridge_skills.gotchas.gotcha import Finding, Fix, Gotcha

HOSTILE = 'a < b & "c" \x1b[31mred\x1b[0m \x00\x07\x9b \ufffe \udcff \u202e ü 損失\r\n::error::x]]>'
RECIPE = """def llama():
    cfg = base()
\tcfg.checkpoint.ckpt_format = "torch_dist"
    return cfg
"""


def gotcha(code: str, **changes: Any) -> Gotcha:
    made = Gotcha(
        code=code,
        title=f"The title of {code}",
        severity="error",
        confidence="proved",
        applies={},
        when=parse("ddp.use_megatron_fsdp"),
        phase="validation",
        raises=(),
        becomes={},
        fix=None,
        log=(),
        sources=("Bridge 0.6.2: training/config.py", "https://example.org/4246"),
        verified_on=(),
        records=(),
        body="First paragraph,\nin two lines.\n\nSecond one.\n",
        path=Path(f"{code}.md"),
    )
    return replace(made, **changes)


def found(
    made: Gotcha,
    *,
    exception: str | None = None,
    message: str | None = None,
    becomes: dict[str, Any] | None = None,
    origin: Origin | None = None,
    config: str = "llama",
    source: Path | None = Path("train.py"),
    possible: bool = False,
    unknowns: tuple[str, ...] = (),
    conditions: tuple[str, ...] = (),
) -> Located:
    finding = Finding(made, exception, message, becomes or {})
    return Located(finding, config, source, origin or Origin(source, 3, 2), possible, unknowns, conditions)


def whole(*findings: Located, **changes: Any) -> CheckReport:
    made = CheckReport(
        bridge="0.6.2",
        core="0.19.2",
        release_source="option",
        configs=3,
        files=2,
        unknown_values=4,
        findings=findings,
    )
    return replace(made, **changes)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a recipe in it."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(RECIPE)
    return tmp_path


@pytest.fixture
def make() -> Callable[..., Located]:
    """A gotcha's code, changes of it and of the finding, to a located finding."""

    def made(code: str, gotcha_changes: dict[str, Any] | None = None, **finding: Any) -> Located:
        return found(gotcha(code, **(gotcha_changes or {})), **finding)

    return made


@pytest.fixture
def report_of() -> Callable[..., CheckReport]:
    """Findings, and changes of the report, to a report."""
    return whole


@pytest.fixture
def report() -> CheckReport:
    """A report with every kind of finding."""
    fails = found(
        gotcha(
            "MB101",
            title="Only fsdp_dtensor is saved",
            fix=Fix({"checkpoint.ckpt_format": "fsdp_dtensor"}, safe=True),
        ),
        exception="AssertionError",
        message="requires the fsdp_dtensor format!",
    )
    changed = found(
        gotcha("MB220", title="Switched off", severity="info", phase="silent"),
        becomes={"ddp.average_in_collective": False, "model.dtype": {"same_as": "model.params_dtype"}},
        origin=Origin(Path("train.py"), 2),
    )
    perhaps = found(
        gotcha(
            "MB501",
            title="Too few connections",
            severity="warning",
            confidence="inferred",
            fix=Fix({}, safe=False, environment={"A": "8", "B": None}, note="Or leave both alone."),
        ),
        origin=Origin(Path("conf/launch.sh"), 9, 1),
        possible=True,
        unknowns=("env:A", "world_size"),
        conditions=("FSDP == 1", "TP > 1"),
    )
    optional = found(
        gotcha("MB601", severity="warning", phase="wrap"),
        config="--overrides",
        source=None,
        origin=Origin(note="--overrides"),
    )
    return whole(
        fails,
        changed,
        perhaps,
        optional,
        release_source="assumed",
        suppressed=1,
        unlikely=5,
        unreadable=(Unreadable(Path("bad.yaml"), 7, "expected a mapping"),),
    )


@pytest.fixture
def hostile_report() -> CheckReport:
    """A report whose every text comes from hostile files."""
    made = gotcha(
        "MB999",
        title=HOSTILE,
        body=HOSTILE,
        sources=(HOSTILE,),
        fix=Fix(
            {HOSTILE: HOSTILE, "b": {"c": [HOSTILE]}}, safe=True, environment={HOSTILE: HOSTILE}, note=HOSTILE
        ),
    )
    path = Path(HOSTILE.replace("\x00", ""))
    one = found(
        made,
        exception=HOSTILE,
        message=HOSTILE,
        becomes={HOSTILE: HOSTILE, "n": float("nan"), "s": {"same_as": HOSTILE}},
        origin=Origin(path, 1, 1, HOSTILE),
        config=HOSTILE,
        source=path,
        conditions=(HOSTILE,),
    )
    two = replace(one, possible=True, unknowns=(HOSTILE,), source=None)
    return whole(one, two, release_source=HOSTILE, unreadable=(Unreadable(path, 1, HOSTILE),))
