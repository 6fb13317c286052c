"""Statements of a script. Where the script alone does not decide a test, both outcomes are read, each on
its own."""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Callable
from typing import TYPE_CHECKING

from mbridge_skills.readers.shell import conditions
from mbridge_skills.readers.shell.commands import Commands, ExitError
from mbridge_skills.readers.shell.decisions import Decisions
from mbridge_skills.readers.shell.expand import Expander
from mbridge_skills.readers.shell.script import Script
from mbridge_skills.readers.shell.state import State
from mbridge_skills.readers.shell.text import Mark, Text, hole

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DEPTH = 12
_MAX_ITERATIONS = 16
_MAX_STEPS = 6_000


class Evaluator(Commands):
    """Reads scripts in one state."""

    def __init__(self, state: State, decisions: Decisions) -> None:
        self.state = state
        self.decisions = decisions
        self._depth = 0
        self.steps = 0
        self._trial = 0

    @property
    def exhausted(self) -> bool:
        """Whether the script takes more steps than a launch script would."""
        return self.steps > _MAX_STEPS

    def run(self, script: Script) -> bool:
        """Read a script; False where it does not come to its end."""
        if self._depth > _MAX_DEPTH:
            self.state.forget()
            return True
        self._depth += 1
        try:
            return self.block(script.root.named_children, script)
        finally:
            self._depth -= 1

    def block(self, nodes: list[Node], script: Script) -> bool:
        """Read statements; False where the end is not reached."""
        return all(self.statement(node, script) for node in nodes)

    def statement(self, node: Node, script: Script) -> bool:
        """Read one statement; False where what follows is not reached."""
        self.steps += 1
        if self.exhausted:
            self.state.forget()
            return False
        expander = Expander(script, self.state)
        match node.type:
            case "variable_assignment":
                self.assign(node, expander)
            case "variable_assignments":
                return self.block(node.named_children, script)
            case "declaration_command":
                self.declare(node, expander)
            case "unset_command":
                self.unset(node, expander)
            case "command":
                return self.command(node, expander)
            case "redirected_statement":
                return self._redirected(node, script)
            case "pipeline":
                # Every part runs, whatever the others give.
                parts = [self._part(child, script) for child in node.named_children]
                return all(parts)
            case "list":
                return self._list(node, script)
            case "if_statement":
                return self._if(node, script)
            case "case_statement":
                return self._case(node, script)
            case "for_statement":
                return self._for(node, script)
            case "while_statement" | "c_style_for_statement":
                body = node.child_by_field_name("body")
                return self._maybe(lambda: body is None or self.block(body.named_children, script))
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is not None and body is not None:
                    self.state.functions[script.of(name).value] = (script, body)
            case "compound_statement" | "do_group":
                return self.block(node.named_children, script)
            case "subshell":
                return self._part(node, script, inner=node.named_children)
            case "negated_command":
                self.block(node.named_children, script)
            case "binary_expression" | "unary_expression" | "postfix_expression":
                self._arithmetic(node, script)
        return True

    def _part(self, node: Node, script: Script, inner: list[Node] | None = None) -> bool:
        """A part of a pipeline or a subshell: what it sets does not last."""
        saved = (dict(self.state.variables), set(self.state.exported))
        with contextlib.suppress(ExitError):
            self.block(inner if inner is not None else [node], script)
        self.state.variables, self.state.exported = saved
        return True

    def _redirected(self, node: Node, script: Script) -> bool:
        body = node.child_by_field_name("body")
        if body is None:
            return True
        redirects = node.children_by_field_name("redirect")
        document = next((each for each in redirects if each.type == "heredoc_redirect"), None)
        if document is not None and body.type == "command":
            self._document(body, document, script)
        return self.statement(body, script)

    def _document(self, command: Node, document: Node, script: Script) -> None:
        """A here-document that a shell reads is a script."""
        expander = Expander(script, self.state)
        name = command.child_by_field_name("name")
        words = expander.words(name) if name is not None else []
        for child in command.children_by_field_name("argument"):
            words += expander.words(child)
        content = next((child for child in document.named_children if child.type == "heredoc_body"), None)
        shells = {"bash", "sh", "sbatch"}
        last = [word.value for word in words if not word.value.startswith("-")][-1:]
        if content is None or not last or last[0].rpartition("/")[2] not in shells:
            return
        start = next((child for child in document.children if child.type == "heredoc_start"), None)
        text = script.of(content)
        if start is not None and not any(quote in script.of(start).value for quote in "'\"\\"):
            text = expander.document(content)
        self._nested(text)

    def _list(self, node: Node, script: Script) -> bool:
        left, right = node.named_children[0], node.named_children[-1]
        both = any(child.type == "&&" for child in node.children)
        if left.type in ("test_command", "negated_command") or (left.type == "list" and _is_test(left)):
            return self._either(left, both, [right], None, script)
        guarded = left.named_children if left.type == "list" else []
        if (
            not both
            and len(guarded) == 2
            and _is_test(guarded[0])
            and any(c.type == "&&" for c in left.children)
        ):
            return self._either(guarded[0], True, [guarded[1]], [right], script)  # test && this || that
        if not self.statement(left, script):
            return False
        return (
            self.statement(right, script)
            if both
            else self._maybe(lambda: self.statement(right, script), likely=False)
        )

    def _either(
        self, test: Node, wanted: bool, body: list[Node], other: list[Node] | None, script: Script
    ) -> bool:
        """Run ``body`` where ``test`` gives ``wanted``, else ``other``."""
        expander = Expander(script, self.state)
        held = conditions.test(test, expander)
        if held is not None:
            taken, left = (body, other) if held is wanted else (other, body)
            return self._past_guard(taken or [], left or [] if other else [], script)
        condition = conditions.described(test, expander)
        outcomes = [condition, conditions.opposite(condition)]
        if not wanted:
            outcomes.reverse()

        def first() -> bool:
            self._assume(test, wanted, script)
            return self.block(body, script)

        def second() -> bool:
            self._assume(test, not wanted, script)
            return self.block(other or [], script)

        return self.alternatives([first, second], outcomes)

    def _past_guard(self, body: list[Node], other: list[Node], script: Script) -> bool:
        """Run ``body``; where it only ends the script, it guards against what a user has yet to fill in."""
        before = self.state.copy()
        try:
            return self.block(body, script)
        except ExitError:
            if len(self.state.launches) > len(before.launches):
                raise
            self.state = before
            return self.block(other, script)

    def alternatives(self, runs: list[Callable[[], bool]], outcomes: list[str]) -> bool:
        """Run one of several: all on trial first; where it matters, one is chosen and noted as a
        condition."""
        before = self.state
        ends: list[tuple[int, bool, State]] = []
        self._trial += 1
        for i, run in enumerate(runs):
            self.state = before.copy()
            try:
                ends.append((i, run(), self.state))
            except ExitError:
                continue
        self._trial -= 1
        self.state = before
        if not ends:
            raise ExitError
        if all(end[2].same(ends[0][2]) and end[1] == ends[0][1] for end in ends[1:]):
            self.state = ends[0][2]
            return ends[0][1]
        chosen = None if self._trial else self.decisions.choose(outcomes)
        if chosen is not None:
            return runs[chosen]()
        merged = ends[0][2]
        for _, _, state in ends[1:]:
            merged.merge(state)
        self.state = merged
        return any(reached for _, reached, _ in ends)

    def _maybe(self, run: Callable[[], bool], likely: bool = True) -> bool:
        """Something that runs any number of times, or not at all."""
        for _ in range(3):
            before = self.state.copy()
            try:
                self._trial += 1
                run()
            except ExitError:
                self.state = before
                return True
            finally:
                self._trial -= 1
            if self.state.same(before):
                break
            self.state.merge(before)
            if not likely:
                break
        return True

    def _assume(self, test: Node, held: bool, script: Script) -> None:
        """What a test says about a variable: in the branch it has the value that it was compared with."""
        inner = test.named_children[0] if test.type == "test_command" and test.named_children else test
        expander = Expander(script, self.state)
        operands = inner.named_children
        name = next((_variable(each, script) for each in operands if _variable(each, script)), None)
        if name is None or isinstance(self.state.variables.get(name), list):
            return
        operator = next((script.of(child).value for child in inner.children if _is_operator(child)), "")
        if operator in ("-z", "-n") and held is (operator == "-z"):
            self.state.variables[name] = Text()
        elif operator in ("=", "==", "-eq", "!=", "-ne") and len(operands) >= 2:
            equal = held is (operator in ("=", "==", "-eq"))
            value = expander.text(operands[-1])
            if equal and value.certain and not set(value.value) & set("*?["):
                self.state.variables[name] = value

    def _if(self, node: Node, script: Script) -> bool:
        tests = node.children_by_field_name("condition")
        tests = [each for each in tests if each.is_named]
        clauses = [child for child in node.named_children if child.type in ("elif_clause", "else_clause")]
        skip = {each.id for each in (*tests, *clauses)}
        body = [child for child in node.named_children if child.id not in skip]
        return self._branch(tests, body, clauses, script)

    def _branch(self, tests: list[Node], body: list[Node], clauses: list[Node], script: Script) -> bool:
        if len(tests) != 1:
            return self._maybe(lambda: self.block([*tests, *body], script))
        if not _is_test(tests[0]):
            self.block(tests, script)
        other: Callable[[], bool] = lambda: True  # noqa: E731
        if clauses and clauses[0].type == "else_clause":
            return self._either(tests[0], True, body, clauses[0].named_children, script)
        if clauses:
            first, rest = clauses[0], clauses[1:]
            inner = first.named_children
            other = lambda: self._branch(inner[:1], inner[1:], rest, script)  # noqa: E731
            return self._either_run(tests[0], body, other, script)
        return self._either(tests[0], True, body, None, script)

    def _either_run(self, test: Node, body: list[Node], other: Callable[[], bool], script: Script) -> bool:
        expander = Expander(script, self.state)
        held = conditions.test(test, expander)
        if held is not None:
            return self._past_guard(body, [], script) if held else other()
        condition = conditions.described(test, expander)

        def first() -> bool:
            self._assume(test, True, script)
            return self.block(body, script)

        return self.alternatives([first, other], [condition, conditions.opposite(condition)])

    def _case(self, node: Node, script: Script) -> bool:
        value_node = node.child_by_field_name("value")
        expander = Expander(script, self.state)
        value = expander.text(value_node) if value_node is not None else Text()
        items = [child for child in node.named_children if child.type == "case_item"]
        variable = conditions.described(value_node, expander) if value_node is not None else ""
        runs: list[Callable[[], bool]] = []
        outcomes: list[str] = []
        for item in items:
            patterns = item.children_by_field_name("value")
            body = [child for child in item.named_children if child.id not in {each.id for each in patterns}]
            texts = [expander.text(each).value for each in patterns]
            if value.certain and any(fnmatch.fnmatchcase(value.value, text) for text in texts):
                return self.block(body, script)
            runs.append(lambda body=body: self.block(body, script))  # type: ignore[misc]
            named = "something else" if texts == ["*"] else " or ".join(texts)
            outcomes.append(f"{variable} is {named}")
        if value.certain or not items:
            return True
        if not outcomes[-1].endswith(" is something else"):
            runs.append(lambda: True)
            outcomes.append(f"{variable} is something else")
        return self.alternatives(runs, outcomes)

    def _for(self, node: Node, script: Script) -> bool:
        variable, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if variable is None or body is None:
            return True
        name = script.of(variable).value
        expander = Expander(script, self.state)
        values = [word for child in node.children_by_field_name("value") for word in expander.words(child)]
        if all(value.known for value in values) and len(values) <= _MAX_ITERATIONS:
            for value in values:
                self.state.variables[name] = value
                if not self.block(body.named_children, script):
                    break
            return True

        def once() -> bool:
            self.state.variables[name] = hole(Mark(1, 1))
            return self.block(body.named_children, script)

        return self._maybe(once)

    def _arithmetic(self, node: Node, script: Script) -> None:
        """``(( name = ... ))``: the variables in it are not known afterwards."""
        for child in node.named_children:
            if child.type in ("variable_name", "word"):
                self.state.variables[script.of(child).value] = hole(script.mark(child))
            else:
                self._arithmetic(child, script)

    def call(self, name: str, arguments: list[Text]) -> bool:
        """Call a function; ``return`` ends it, ``exit`` the script."""
        if self._depth > _MAX_DEPTH:
            self.state.forget()
            return True
        script, body = self.state.functions[name]
        outer, self.state.arguments = self.state.arguments, arguments
        self._depth += 1
        try:
            self.block(body.named_children, script)
        finally:
            self._depth -= 1
            self.state.arguments = outer
        return True


def _is_test(node: Node) -> bool:
    if node.type == "list":
        return all(_is_test(child) for child in node.named_children)
    return node.type in ("test_command", "negated_command")


def _is_operator(node: Node) -> bool:
    return node.type == "test_operator" or (not node.is_named and node.type not in ("[", "]", "[[", "]]"))


def _variable(node: Node, script: Script) -> str | None:
    """The name in ``$NAME``, ``"$NAME"`` and ``${NAME:-default}``, where that is all."""
    if node.type == "string" and len(node.named_children) == 1 and len(node.children) == 3:
        node = node.named_children[0]
    if node.type not in ("simple_expansion", "expansion") or not node.named_children:
        return None
    first = node.named_children[0]
    return script.of(first).value if first.type == "variable_name" else None
