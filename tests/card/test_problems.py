from __future__ import annotations

from pathlib import Path

from mbridge_skills.card.problems import CardProblem, in_order, input_error, json_pointer
from mbridge_skills.errors import Location

HERE = Path("card.yaml")


def _problem(line: int, pointer: str = "/a") -> CardProblem:
    return CardProblem(Location(HERE, line, 1), pointer, "wrong")


def test_json_pointer() -> None:
    assert json_pointer(()) == ""
    assert json_pointer(("a", 0, "b/c", "d~e")) == "/a/0/b~1c/d~0e"


def test_in_order_drops_repetitions() -> None:
    assert in_order([_problem(3), _problem(1), _problem(3)]) == [_problem(1), _problem(3)]


def test_problem_of_the_whole_file_has_no_pointer() -> None:
    assert str(CardProblem(Location(HERE), "", "empty")) == "card.yaml: empty"


def test_one_problem_is_the_message() -> None:
    error = input_error(HERE, [_problem(2)], remedy="write it")
    assert str(error) == "card.yaml:2:1: /a: wrong\n  help: write it"


def test_several_problems_are_listed() -> None:
    error = input_error(HERE, [_problem(2), _problem(3, "/b")])
    assert str(error) == "card.yaml: 2 problems\n  card.yaml:2:1: /a: wrong\n  card.yaml:3:1: /b: wrong"
