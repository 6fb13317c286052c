"""Simple commands: builtins that change variables, programs that run a script, and launches."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mbridge_skills.readers.shell.expand import Expander, join
from mbridge_skills.readers.shell.script import Script
from mbridge_skills.readers.shell.state import Launch, State
from mbridge_skills.readers.shell.text import Mark, Text, hole
from mbridge_skills.readers.words import HOLE

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_SILENT = frozenset(
    {
        *(
            "echo",
            "printf",
            "mkdir",
            "cd",
            "ls",
            "cat",
            "rm",
            "cp",
            "mv",
            "date",
            "sleep",
            "wait",
            "trap",
            "tee",
            "pip",
        ),
        *(
            "module",
            "nvidia-smi",
            "hostname",
            "ulimit",
            "set",
            "shopt",
            "test",
            "[",
            "true",
            "false",
            ":",
            "touch",
        ),
        *(
            "git",
            "chmod",
            "which",
            "command",
            "type",
            "kill",
            "grep",
            "sed",
            "awk",
            "conda",
            "scontrol",
            "sbatch",
        ),
    }
)
_HARMLESS_SOURCES = re.compile(r"(^|/)(activate|conda\.sh|profile|bashrc|\.bashrc)$|^/etc/")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_MAX_LAUNCHES = 64


class ExitError(Exception):
    """The script ends here."""


class Commands:
    """Runs simple commands in ``state``; nested scripts are left to ``run``."""

    state: State

    def run(self, script: Script) -> bool:
        """Run a nested script; False where it does not come to its end."""
        raise NotImplementedError

    def call(self, name: str, arguments: list[Text]) -> bool:
        """Call a function of the script; False where the script ends in it."""
        raise NotImplementedError

    def assign(self, node: Node, expander: Expander) -> str:
        """``NAME=value``, ``NAME+=value``, ``NAME=( ... )``; gives the name."""
        target = node.child_by_field_name("name")
        assert target is not None
        name = expander.script.of(target).value
        value_node = node.child_by_field_name("value")
        grows = any(child.type == "+=" for child in node.children)
        if target.type == "subscript":
            name = name.partition("[")[0]
            self.state.variables[name] = [hole(expander.script.mark(node))]
            return name
        old = self.state.variables.get(name)
        if value_node is not None and value_node.type == "array":
            items = [word for child in value_node.named_children for word in self._element(child, expander)]
            before = old if isinstance(old, list) else [old] if isinstance(old, Text) else []
            self.state.variables[name] = [*before, *items] if grows else items
            return name
        value = expander.text(value_node) if value_node is not None else Text()
        if grows and isinstance(old, list):
            self.state.variables[name] = [(old[0] if old else Text()) + value, *old[1:]]
        elif grows:
            unset = Text() if name in self.state.variables else hole(expander.script.mark(node))
            self.state.variables[name] = join([old if isinstance(old, Text) else unset, value])
        else:
            self.state.variables[name] = value
        return name

    def _element(self, node: Node, expander: Expander) -> list[Text]:
        return [] if node.type == "comment" else expander.words(node)

    def declare(self, node: Node, expander: Expander) -> None:
        """``export``, ``declare``, ``local``, ``readonly``, ``typeset``."""
        keyword = node.children[0].type
        options = [expander.script.of(child).value for child in node.named_children if child.type == "word"]
        exports = keyword == "export" or any(option.startswith("-") and "x" in option for option in options)
        for child in node.named_children:
            if child.type == "variable_assignment":
                name = self.assign(child, expander)
            elif child.type == "variable_name":
                name = expander.script.of(child).value
            else:
                continue
            if exports and "-n" not in options:
                self.state.exported.add(name)

    def unset(self, node: Node, expander: Expander) -> None:
        """``unset NAME...``."""
        for child in node.named_children:
            name = expander.script.of(child).value
            if _NAME.fullmatch(name):
                self.state.variables[name] = None
                self.state.exported.discard(name)

    def command(self, node: Node, expander: Expander) -> bool:
        """A simple command; False where the script does not go on."""
        given = next((child for child in node.children if child.type == "herestring_redirect"), None)
        herestring = expander.text(given.named_children[-1]) if given and given.named_children else None
        name = node.child_by_field_name("name")
        assignments = [child for child in node.children if child.type == "variable_assignment"]
        words = expander.words(name) if name is not None else []
        for child in node.children_by_field_name("argument"):
            words += expander.words(child)
        if not words:
            return True
        saved = (dict(self.state.variables), set(self.state.exported)) if assignments else None
        for child in assignments:
            self.state.exported.add(self.assign(child, expander))
        reached = self.dispatch(words, expander.script.mark(node), herestring)
        if saved is not None:
            read = words[0].value == "read"
            kept = {word.value: self.state.variables.get(word.value) for word in words[1:]} if read else {}
            self.state.variables, self.state.exported = saved
            self.state.variables.update(
                {name: value for name, value in kept.items() if _NAME.fullmatch(name)}
            )
        return reached

    def dispatch(self, words: list[Text], mark: Mark, herestring: Text | None = None) -> bool:
        """A command by its words."""
        first = words[0].value
        while first in ("exec", "command", "time", "nohup", "sudo", "builtin") and len(words) > 1:
            words = words[1:]
            first = words[0].value
        if first in self.state.functions:
            return self.call(first, words[1:])
        match first:
            case "exit":
                raise ExitError
            case "return":
                return False
            case "eval":
                return self._nested(join(words[1:], " "))
            case "source" | ".":
                if not (len(words) > 1 and _HARMLESS_SOURCES.search(words[1].value)):
                    self.state.forget()
                return True
            case "read" | "mapfile" | "readarray":
                self._read(words, mark, herestring)
                return True
            case "shift" | "getopts" | "let":
                self.state.arguments = None if first == "shift" else self.state.arguments
                for word in words[1:]:
                    if match := _NAME.match(word.value):
                        self.state.variables[match.group()] = hole(mark)
                return True
            case "cd" | "pushd" | "popd":
                return True
        if first == "printf" and len(words) > 2 and words[1].value == "-v":
            self.state.variables[words[2].value] = hole(mark)
        if first == "env":
            return self._env(words[1:], mark)
        return self._program(words, mark)

    def _env(self, words: list[Text], mark: Mark) -> bool:
        saved = (dict(self.state.variables), set(self.state.exported))
        while words and (match := _ASSIGNMENT.match(words[0].value)):
            self.state.variables[match[1]] = words[0].slice(match.end())
            self.state.exported.add(match[1])
            words = words[1:]
        reached = self.dispatch(words, mark) if words else True
        self.state.variables, self.state.exported = saved
        return reached

    def _program(self, words: list[Text], mark: Mark) -> bool:
        if posixpath.basename(words[0].value) in _SILENT:
            return True
        for i, word in enumerate(words[:-1]):
            if posixpath.basename(word.value) not in _SHELLS:
                continue
            at = i + 1
            while at < len(words) and re.fullmatch(r"[-+][a-z]+", words[at].value):
                if words[at].value.startswith("-") and "c" in words[at].value:
                    return self._nested(words[at + 1], words[:i]) if at + 1 < len(words) else True
                at += 1
        if len(self.state.launches) < _MAX_LAUNCHES:
            environment = self.state.environment()
            self.state.launches.append(
                Launch((*self.state.outer, *words), environment, mark, dict(self.state.slurm))
            )
        return True

    def _nested(self, text: Text, outer: Sequence[Text] = ()) -> bool:
        """A script in a string: ``srun bash -c "..."``. What it sets stays in it."""
        saved = (dict(self.state.variables), set(self.state.exported), self.state.outer)
        self.state.outer = (*self.state.outer, *outer)
        with contextlib.suppress(ExitError):
            self.run(Script(text))
        self.state.variables, self.state.exported, self.state.outer = saved
        return True

    def _read(self, words: list[Text], mark: Mark, herestring: Text | None) -> None:
        names = [word.value for word in words[1:] if _NAME.fullmatch(word.value)]
        separators = self.state.variables.get("IFS")
        values: list[Text] = []
        if (
            herestring is not None
            and words[0].value == "read"
            and not any(w.value in ("-d", "-n") for w in words)
        ):
            kind = separators.value if isinstance(separators, Text) and separators.value else None
            if "-a" in [word.value for word in words]:
                fields = herestring.fields(kind)
                for name in names:
                    self.state.variables[name] = fields if herestring.known else [hole(mark)]
                return
            values = _read_fields(herestring, kind, len(names))
        for i, name in enumerate(names):
            if herestring is None or (not herestring.known and herestring.value.strip() == HOLE):
                self.state.variables[name] = hole(mark)
            else:
                self.state.variables[name] = values[i] if i < len(values) else Text()


def _read_fields(text: Text, separators: str | None, count: int) -> list[Text]:
    """What ``read`` puts into ``count`` variables: the last one takes the rest."""
    fields: list[Text] = []
    rest = text
    while len(fields) < count - 1:
        value = rest.value
        cut = next((i for i, c in enumerate(value) if (c in separators if separators else c.isspace())), None)
        if cut is None:
            break
        fields.append(rest.slice(0, cut))
        rest = rest.slice(cut + 1)
    return [*fields, rest]
