"""Judging configurations against gotchas, for one release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from mbridge_skills.card.versions import satisfies
from mbridge_skills.config.view import UNKNOWN, TrainingConfig
from mbridge_skills.gotchas.expression import ENVIRONMENT, Expression, Run, is_config_path
from mbridge_skills.gotchas.fast import Hits, compile_hits
from mbridge_skills.gotchas.gotcha import Applies, Finding, Gotcha, Raises
from mbridge_skills.releases.table import ABSENT, Release, default, nearest

Verdict = Literal["ok", "error", "unknown"]
_satisfies = cache(satisfies)
_MAX_KNOWN = 10_000  # results that are kept, so that equal ones are made once


@dataclass(frozen=True)
class Judgement:
    """What is known of one configuration."""

    verdict: Verdict  # of upstream's validate(): what later phases run into does not count
    findings: tuple[Finding, ...]  # by code
    undecided: tuple[Gotcha, ...]  # whose condition depends on something unknown


@dataclass(frozen=True)
class _Rule:
    """A gotcha as it is in the judge's release."""

    finding: Finding
    certain: bool  # False where an unknown release decides whether it applies at all
    run: Run


@dataclass(frozen=True)
class _Plan:
    """How the rules are judged where certain operands are unknown."""

    hits: Hits
    slow: list[int]  # the rules that it leaves out: they have to do with those operands


class Judge:
    """All gotchas that apply to one release, compiled.

    ``versions`` are the releases of other distributions ("transformer-engine", "torch"); one that is not
    there is unknown. ``assumed`` stands in for the release's defaults: values of paths that a configuration
    does not set.
    """

    def __init__(
        self,
        gotchas: Iterable[Gotcha],
        release: Release,
        *,
        versions: Mapping[str, str] | None = None,
        assumed: Mapping[str, Any] | None = None,
    ) -> None:
        self.release = release
        self._versions = {
            "megatron-bridge": release.bridge,
            "megatron-core": release.core,
            **(versions or {}),
        }
        self._rules = [rule for gotcha in gotchas if (rule := self._rule(gotcha)) is not None]
        operands = {name for rule in self._rules for name in rule.finding.gotcha.when.operands}
        operands |= {name for rule in self._rules for name in _read_by(rule.finding.becomes)}
        self._defaults = self._values_of_nothing(operands, assumed or {})
        self._changing = [bool(rule.finding.becomes) for rule in self._rules]
        self._taken_over = [
            any(isinstance(value, dict) for value in rule.finding.becomes.values()) for rule in self._rules
        ]
        self._plans: dict[frozenset[str], _Plan] = {}
        self._known: dict[tuple[Any, ...], Judgement] = {}
        self._changes: dict[tuple[Any, ...], Finding] = {}
        self._open = tuple(name for name, value in self._defaults.items() if value is UNKNOWN)

    @property
    def unset(self) -> Mapping[str, Any]:
        """Every operand that the conditions ask for, with the value that it has when nothing sets it."""
        return self._defaults

    def judge(self, config: TrainingConfig) -> Judgement:
        """Judge one configuration."""
        values: dict[str, Any] = {}
        for name, unset in self._defaults.items():
            if name in config.settings:
                values[name] = config.settings[name].value
            elif is_config_path(name) and config.covers(name):
                values[name] = UNKNOWN
            else:
                values[name] = unset
        for name, setting in config.environment.items():
            values[ENVIRONMENT + name] = setting.value
        values["world_size"] = config.world_size
        values["device_capability"] = config.device_capability
        return self._decided([], range(len(self._rules)), values)

    def judge_flat(self, settings: Mapping[str, Any]) -> Judgement:
        """Judge operands by name: paths, "env:NAME", "world_size" and "device_capability".

        A path that is not there has its default; another operand that is not there is unknown. Of what is
        there, only the operands without a default may be UNKNOWN.
        """
        return self.judge_values({**self._defaults, **settings})

    def judge_values(self, values: Mapping[str, Any]) -> Judgement:
        """As `judge_flat`, with every operand of `unset` in ``values``."""
        plan = self._plan_for(frozenset([name for name in self._open if values[name] is UNKNOWN]))
        hits = plan.hits(values)
        if hits is None:
            return self._decided([], range(len(self._rules)), values)
        found, ask = hits
        return self._decided(found, [*plan.slow, *ask] if plan.slow or ask else (), values)

    def _decided(self, found: list[int], rest: Sequence[int], values: Mapping[str, Any]) -> Judgement:
        """The judgement where the rules ``found`` hold and ``rest`` are still to be asked.

        Equal judgements are one object, so that what is made of them can be kept too.
        """
        undecided = self._ask(rest, values, found) if rest else ()
        found.sort()
        if any(self._changing[number] for number in found):
            findings = self._findings(found, values)
            key: tuple[Any, ...] = (*map(id, findings), None, *map(id, undecided))
        else:
            findings, key = None, (*found, None, *map(id, undecided))
        known = self._known.get(key)
        if known is None:
            findings = self._findings(found, values) if findings is None else findings
            known = Judgement(_verdict(findings, undecided), findings, undecided)
            if len(self._known) < _MAX_KNOWN:
                self._known[key] = known
        return known

    def _ask(self, numbers: Iterable[int], values: Mapping[str, Any], found: list[int]) -> tuple[Gotcha, ...]:
        """Judge these rules one by one: what holds goes into ``found``, what is undecided is returned."""
        undecided = []
        for number in numbers:
            rule = self._rules[number]
            held = rule.run(values)
            if held is UNKNOWN or (held and not rule.certain):
                undecided.append(rule.finding.gotcha)
            elif held:
                found.append(number)
        return tuple(undecided)

    def _findings(self, found: Iterable[int], values: Mapping[str, Any]) -> tuple[Finding, ...]:
        findings = (self._resolved(number, values) for number in found)
        return tuple(one for one in findings if one.becomes or not one.gotcha.becomes)

    def _plan_for(self, unknown: frozenset[str]) -> _Plan:
        """How to judge where exactly these operands are unknown."""
        known = self._plans.get(unknown)
        if known is None:
            slow, possible, decided = [], [], []
            for number, rule in enumerate(self._rules):
                condition = rule.finding.gotcha.when
                questions = self._unknown_releases(condition)
                if questions > 1 or not unknown.isdisjoint(condition.operands):
                    slow.append(number)
                elif questions or not rule.certain:
                    possible.append((number, condition))
                else:
                    decided.append((number, condition))
            known = self._plans[unknown] = _Plan(compile_hits(decided, possible, self._satisfied), slow)
        return known

    def _unknown_releases(self, condition: Expression) -> int:
        """How often the condition asks for a release that is not known."""
        return sum(self._satisfied(*question) is None for question in condition.questions)

    def _resolved(self, number: int, values: Mapping[str, Any]) -> Finding:
        finding = self._rules[number].finding
        if not finding.becomes:
            return finding
        becomes = finding.becomes
        if self._taken_over[number]:
            becomes = {
                path: values.get(value["same_as"], UNKNOWN) if isinstance(value, dict) else value
                for path, value in becomes.items()
            }
        changes = {path: value for path, value in becomes.items() if values.get(path, UNKNOWN) != value}
        key = (number, *changes) if becomes is finding.becomes else (number, repr(changes))
        known = self._changes.get(key)
        if known is None:
            known = Finding(finding.gotcha, finding.exception, finding.message, changes)
            if len(self._changes) < _MAX_KNOWN:
                self._changes[key] = known
        return known

    def _rule(self, gotcha: Gotcha) -> _Rule | None:
        held = self._holds(gotcha.applies)
        if held is False:
            return None
        raised = _first(gotcha.raises, self._holds)
        exception = raised.exception if raised else None
        message = raised.message if raised else None
        finding = Finding(gotcha, exception, message, gotcha.becomes)
        return _Rule(finding, held is True, gotcha.when.evaluator(self._satisfied))

    def _holds(self, applies: Applies) -> bool | None:
        answers = [self._satisfied(distribution, specifier) for distribution, specifier in applies.items()]
        if False in answers:
            return False
        return None if None in answers else True

    def _satisfied(self, distribution: str, specifier: str) -> bool | None:
        return _satisfies(specifier, self._versions.get(distribution))

    def _values_of_nothing(self, operands: Iterable[str], assumed: Mapping[str, Any]) -> dict[str, Any]:
        bridge = nearest(self.release.bridge)
        values: dict[str, Any] = {"world_size": UNKNOWN, "device_capability": UNKNOWN}
        for name in operands:
            if not is_config_path(name):
                values[name] = UNKNOWN
                continue
            value = assumed.get(name, UNKNOWN)
            if value is UNKNOWN:
                value = default(name, bridge)
            values[name] = None if value is ABSENT else value
        return values


def _read_by(becomes: Mapping[str, Any]) -> set[str]:
    """The paths whose values a change is shown with."""
    return {*becomes, *(value["same_as"] for value in becomes.values() if isinstance(value, dict))}


def _first(raises: Sequence[Raises], holds: Callable[[Applies], bool | None]) -> Raises | None:
    return next((one for one in raises if holds(one.applies) is not False), None)


def _verdict(findings: Iterable[Finding], undecided: Iterable[Gotcha]) -> Verdict:
    if any(finding.stops_validation for finding in findings):
        return "error"
    unsure = any(gotcha.severity == "error" and gotcha.phase == "validation" for gotcha in undecided)
    return "unknown" if unsure else "ok"
