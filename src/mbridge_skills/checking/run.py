"""Judging configurations and finding the place of each finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mbridge_skills.checking.report import CheckReport, Located
from mbridge_skills.checking.sources import Sources
from mbridge_skills.checking.suppression import is_suppressed
from mbridge_skills.config.view import UNKNOWN, Origin, Setting, TrainingConfig
from mbridge_skills.gotchas.gotcha import Finding, Gotcha
from mbridge_skills.gotchas.judge import Judge
from mbridge_skills.releases.detect import Stack


@dataclass(frozen=True)
class Surroundings:
    """What the user says of the run; it wins over what the files say."""

    world_size: int | None = None
    device_capability: tuple[int, int] | None = None
    environment: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Selection:
    """Which codes count: prefixes such as "MB1". No selection means all."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    all_possible: bool = False  # also what holds only if an unknown value is not the release's default

    def takes(self, code: str) -> bool:
        """Whether findings of this code are wanted."""
        wanted = not self.select or code.startswith(self.select)
        return wanted and not (self.ignore and code.startswith(self.ignore))


def check(
    sources: Sources, judge: Judge, stack: Stack, around: Surroundings, selection: Selection
) -> CheckReport:
    """Judge every configuration of ``sources``."""
    located: list[Located] = []
    unlikely = 0
    for config in sources.configs:
        surrounded = _surrounded(config, around)
        likely = _codes_by_default(surrounded, judge)
        for each in _of_config(surrounded, judge):
            if each.possible and each.code not in likely and not selection.all_possible:
                unlikely += selection.takes(each.code)
            else:
                located.append(each)
    wanted = [each for each in located if selection.takes(each.code)]
    kept = [each for each in wanted if not is_suppressed(each.code, each.origin.path, each.origin.line)]
    return CheckReport(
        bridge=stack.release.bridge,
        core=stack.release.core,
        release_source=stack.source,
        configs=len(sources.configs),
        files=sources.files,
        unknown_values=sum(_unknown_count(config) for config in sources.configs),
        findings=tuple(sorted(kept, key=_order)),
        suppressed=len(wanted) - len(kept),
        unlikely=unlikely,
        unreadable=sources.unreadable,
    )


def _codes_by_default(config: TrainingConfig, judge: Judge) -> frozenset[str]:
    """The gotchas that hold if every unknown setting has the release's default; not so those of a model
    that comes from elsewhere, since a provider sets them all."""
    model = frozenset({"model"}) if config.covers("model.num_layers") else frozenset()
    known = {path: setting for path, setting in config.settings.items() if setting.value is not UNKNOWN}
    plain = replace(config, settings=known, opaque=model)
    judgement = judge.judge(plain)
    return frozenset(finding.code for finding in judgement.findings)


def _of_config(config: TrainingConfig, judge: Judge) -> Iterable[Located]:
    judgement = judge.judge(config)
    for finding in judgement.findings:
        yield _located(finding, config, possible=False)
    for gotcha in judgement.undecided:
        if _worth_telling(gotcha, config):
            raised = gotcha.raises[0] if len(gotcha.raises) == 1 else None
            finding = Finding(
                gotcha,
                raised.exception if raised else None,
                raised.message if raised else None,
                gotcha.becomes,
            )
            yield _located(finding, config, possible=True)


def _worth_telling(gotcha: Gotcha, config: TrainingConfig) -> bool:
    """Whether an undecided gotcha has to do with what the files set. With none of its settings there, it
    would say no more than that a value is unknown."""
    if gotcha.severity == "info":
        return False
    return any(
        config.settings[path].value not in (UNKNOWN, None, False)
        for path in gotcha.when.paths
        if path in config.settings
    )


def _located(finding: Finding, config: TrainingConfig, *, possible: bool) -> Located:
    paths = finding.gotcha.when.paths
    settings = _to_be_fixed(finding.gotcha, config) or [
        config.settings[path] for path in paths if path in config.settings
    ]
    unknowns = sorted(
        path
        for path in paths
        if config.covers(path) or (path in config.settings and config.settings[path].value is UNKNOWN)
    )
    return Located(
        finding=finding,
        config=config.name,
        source=config.source,
        origin=_place(settings, config),
        possible=possible,
        unknowns=tuple(unknowns) if possible else (),
        conditions=config.conditions,
    )


def _to_be_fixed(gotcha: Gotcha, config: TrainingConfig) -> list[Setting]:
    """Of what the files set, the settings and variables that the gotcha's fix changes."""
    if gotcha.fix is None:
        return []
    settings = [config.settings[path] for path in gotcha.fix.settings if path in config.settings]
    variables = [config.environment[name] for name in gotcha.fix.environment if name in config.environment]
    return [setting for setting in [*settings, *variables] if setting.origin.line]


def _place(settings: Sequence[Setting], config: TrainingConfig) -> Origin:
    """The last of the settings that have a line: where a reader would look first."""
    placed = [setting.origin for setting in settings if setting.origin.path and setting.origin.line]
    own = [origin for origin in placed if origin.path == config.source]
    return max(
        own or placed,
        key=lambda origin: (origin.line or 0, origin.column or 0),
        default=Origin(config.source),
    )


def _surrounded(config: TrainingConfig, around: Surroundings) -> TrainingConfig:
    said = Origin(note="--env")
    return replace(
        config,
        world_size=config.world_size if around.world_size is None else around.world_size,
        device_capability=(
            config.device_capability if around.device_capability is None else around.device_capability
        ),
        environment={
            **config.environment,
            **{name: Setting(value, said) for name, value in around.environment.items()},
        },
    )


def _unknown_count(config: TrainingConfig) -> int:
    return sum(setting.value is UNKNOWN for setting in config.settings.values())


def _order(located: Located) -> tuple[str, int, str, str]:
    path: Path | None = located.origin.path or located.source
    return (str(path or ""), located.origin.line or 0, located.code, located.config)
