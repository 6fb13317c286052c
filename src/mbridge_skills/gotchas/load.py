"""Reading gotchas: ``skills/<skill>/gotchas/<code>-<slug>.md``, YAML between two lines ``---`` and then
prose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from mbridge_skills.card.problems import CardProblem, DataPath, input_error
from mbridge_skills.errors import InputError, Location
from mbridge_skills.gotchas.derived import derived_names
from mbridge_skills.gotchas.expression import Expression, ExpressionError, parse
from mbridge_skills.gotchas.gotcha import CONFIDENCES, PHASES, SEVERITIES, Fix, Gotcha, Raises
from mbridge_skills.releases.table import is_path

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FILE_NAME = re.compile(r"(MB[1-9]\d\d)-[a-z0-9]+(-[a-z0-9]+)*\.md")
_RULE = "---\n"

_REQUIRED = {"code", "title", "severity", "confidence", "when", "effect", "sources"}
_OPTIONAL = {"applies", "fix", "log", "verified_on", "records"}
_DISTRIBUTIONS = {"megatron-bridge", "megatron-core", "transformer-engine", "torch"}


class _Wrong(Exception):
    """Something at ``path`` of the head is not as it should be."""

    def __init__(self, path: DataPath, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


def gotcha_files(skill: Path) -> list[Path]:
    """The files of the gotchas of the skill in the folder ``skill``, by name."""
    return sorted((skill / "gotchas").glob("*.md"))


def load_gotchas(skill: Path) -> tuple[Gotcha, ...]:
    """All gotchas of the skill in the folder ``skill``, by code.

    Raises:
        InputError: a file cannot be read or is no gotcha, or two have one code.
    """
    return load_files(gotcha_files(skill))


def load_files(paths: Iterable[Path]) -> tuple[Gotcha, ...]:
    """The gotchas in ``paths``, by code.

    Raises:
        InputError: a file cannot be read or is no gotcha, or two have one code.
    """
    by_code: dict[str, Gotcha] = {}
    for path in paths:
        gotcha = load_gotcha(path)
        if gotcha.code in by_code:
            other = by_code[gotcha.code].path.name
            raise InputError(f"the code {gotcha.code} is taken already, by {other}", where=Location(path))
        by_code[gotcha.code] = gotcha
    return tuple(by_code[code] for code in sorted(by_code))


def load_gotcha(path: Path) -> Gotcha:
    """The gotcha in the file ``path``.

    Raises:
        InputError: the file cannot be read or is no gotcha; it names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
        head, body = _split(text)
        data = yaml.load(head, Loader=_LOADER)
        return _gotcha(data, body, path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, _Wrong, ValueError) as error:
        raise _explained(path, error) from None


def lint_gotchas(skill: Path) -> list[CardProblem]:
    """What is wrong with the gotchas of the skill in the folder ``skill``, read as strictly as a card.

    Loading passes over what only an author has to know: a key given twice, YAML that two readers take in two
    ways, a broken log pattern.
    """
    from mbridge_skills.bundle.frontmatter import read_skill_document

    problems = []
    for path in gotcha_files(skill):
        try:
            gotcha = load_gotcha(path)
            read_skill_document(path)
        except InputError as error:
            problems.append(CardProblem(error.where or Location(path), "", error.message))
            continue
        for pattern in gotcha.log:
            try:
                re.compile(pattern)
            except re.error as error:
                message = f"not a regular expression: {pattern}: {error}"
                problems.append(CardProblem(Location(path), "/log", message))
    return problems


def _split(text: str) -> tuple[str, str]:
    if not text.startswith(_RULE):
        raise ValueError
    head, rule, body = text[len(_RULE) :].partition(f"\n{_RULE}")
    if not rule:
        raise ValueError
    return head, body.strip("\n")


def _explained(path: Path, error: Exception) -> InputError:
    """The same file read slowly: the reader of SKILL.md files finds the place of what is wrong."""
    from mbridge_skills.bundle.frontmatter import read_skill_document
    from mbridge_skills.card.reader import parse_document, read_bytes_as_text

    read_skill_document(path)  # raises on everything that is wrong with the file or its YAML
    text = read_bytes_as_text(path)
    document = parse_document(text.split("\n---", 1)[0].removeprefix(_RULE), path, first_line=1)
    if isinstance(error, _Wrong):
        return input_error(path, [document.problem(error.path, error.message)])
    return input_error(path, [CardProblem(Location(path, 1), "", f"cannot be read as a gotcha: {error}")])


def _gotcha(data: Any, body: str, path: Path) -> Gotcha:
    head = _mapping(data, ())
    for key in head:
        if key not in _REQUIRED and key not in _OPTIONAL:
            raise _Wrong((key,), f'unknown key "{key}"')
    missing = sorted(_REQUIRED - head.keys())
    if missing:
        raise _Wrong((), f'required key "{missing[0]}" is missing')
    code = _text(head["code"], ("code",))
    match = _FILE_NAME.fullmatch(path.name)
    if match is None or match.group(1) != code:
        raise _Wrong(("code",), f'the file name must be the code and a slug, like "{code}-what-it-is.md"')
    if not body:
        raise _Wrong((), "the text after the head is missing: say what happens, why, and what to do")
    effect = _mapping(head["effect"], ("effect",), {"phase", "raises", "becomes"})
    raises = tuple(
        _raises(item, ("effect", "raises", index))
        for index, item in enumerate(_items(effect.get("raises", []), ("effect", "raises")))
    )
    severity = _choice(head["severity"], SEVERITIES, ("severity",))
    phase = _choice(effect.get("phase"), PHASES, ("effect", "phase"))
    if severity == "error" and phase == "validation" and not raises:
        raise _Wrong(("effect",), 'an error of the phase "validation" says what is raised')
    return Gotcha(
        code=code,
        title=_text(head["title"], ("title",)),
        severity=severity,
        confidence=_choice(head["confidence"], CONFIDENCES, ("confidence",)),
        applies=_applies(head.get("applies", {}), ("applies",)),
        when=_condition(head["when"], ("when",)),
        phase=phase,
        raises=raises,
        becomes=_becomes(effect.get("becomes", {})),
        fix=_fix(head["fix"]) if "fix" in head else None,
        log=_texts(head.get("log", []), ("log",)),
        sources=_texts(head["sources"], ("sources",)),
        verified_on=_texts(head.get("verified_on", []), ("verified_on",)),
        records=_texts(head.get("records", []), ("records",)),
        body=body,
        path=path,
    )


def _mapping(data: Any, path: DataPath, keys: set[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise _Wrong(path, "expected a mapping")
    for key in data:
        if not isinstance(key, str):
            raise _Wrong(path, f"expected a string as key, got {key!r}")
        if keys is not None and key not in keys:
            raise _Wrong((*path, key), f'unknown key "{key}"')
    return data


def _items(data: Any, path: DataPath) -> list[Any]:
    if not isinstance(data, list):
        raise _Wrong(path, "expected a list")
    return data


def _text(data: Any, path: DataPath, *, empty: bool = False) -> str:
    if not isinstance(data, str) or not (data.strip() or empty):
        raise _Wrong(path, "expected a text")
    return data


def _texts(data: Any, path: DataPath) -> tuple[str, ...]:
    return tuple(_text(item, (*path, index)) for index, item in enumerate(_items(data, path)))


def _choice(data: Any, choices: tuple[Any, ...], path: DataPath) -> Any:
    if data not in choices:
        raise _Wrong(path, f"expected one of {', '.join(choices)}, got {data!r}")
    return data


def _applies(data: Any, path: DataPath) -> Mapping[str, str]:
    from mbridge_skills.card.versions import specifier_problem

    for distribution, specifier in _mapping(data, path, _DISTRIBUTIONS).items():
        problem = specifier_problem(_text(specifier, (*path, distribution)))
        if problem:
            raise _Wrong((*path, distribution), problem)
    return dict(data)


def _condition(data: Any, path: DataPath) -> Expression:
    try:
        expression = parse(_text(data, path), derived_names())
    except ExpressionError as error:
        raise _Wrong(path, f"column {error.column} of the condition: {error.message}") from None
    for name in sorted(expression.paths):
        _known_path(name, path)
    return expression


def _known_path(name: str, path: DataPath) -> None:
    if not is_path(name):
        raise _Wrong(path, f'no supported release has the path "{name}"')


def _raises(data: Any, path: DataPath) -> Raises:
    item = _mapping(data, path, {"applies", "exception", "message"})
    return Raises(
        _text(item.get("exception"), (*path, "exception")),
        _text(item.get("message"), (*path, "message"), empty=True),
        _applies(item.get("applies", {}), (*path, "applies")),
    )


def _becomes(data: Any) -> Mapping[str, Any]:
    place: DataPath = ("effect", "becomes")
    for name, value in _mapping(data, place).items():
        _known_path(name, (*place, name))
        if isinstance(value, dict):
            _known_path(str(_mapping(value, (*place, name), {"same_as"}).get("same_as")), (*place, name))
    return dict(data)


def _fix(data: Any) -> Fix:
    item = _mapping(data, ("fix",), {"set", "env", "safe", "note"})
    settings = _mapping(item.get("set", {}), ("fix", "set"))
    for name in settings:
        _known_path(name, ("fix", "set", name))
    if not isinstance(item.get("safe"), bool):
        raise _Wrong(("fix",), "say whether the fix is safe: true or false")
    environment = _mapping(item.get("env", {}), ("fix", "env"))
    note = item.get("note")
    return Fix(
        dict(settings),
        item["safe"],
        dict(environment),
        note if note is None else _text(note, ("fix", "note")),
    )
