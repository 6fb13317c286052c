"""Make ``src/mbridge_skills/releases/defaults.json`` from unpacked releases. Nothing of them is imported.

    python tests/releases/make_defaults.py 0.3.0=TREE 0.3.1=TREE ...

in ascending order, where each TREE has ``megatron/bridge`` of that Megatron-Bridge release beside
``megatron/core`` and ``megatron/training`` of the megatron-core that it is pinned to. Each dataclass that a
field of ``ConfigContainer`` names is followed through its base classes, in Python's order. The result maps a
dotted path to its default by the first release that has it so: ``{"0.3.0": false, "0.5.0": true}``. Three
words stand for what is no plain value: ``?`` (required, or made by code), ``-`` (this release has no such
path).
"""

from __future__ import annotations

import ast
import json
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).parents[2] / "src" / "mbridge_skills" / "releases" / "defaults.json"
UNKNOWN = {"?": 0}
ABSENT = {"-": 0}

# What ConfigContainer's annotation does not say by name alone: the class that most recipes use, then others
# whose fields exist too.
EXTRA_CLASSES = {
    "model": [
        "megatron.bridge.models.transformer_config.TransformerConfig",
        "megatron.bridge.models.transformer_config.MLATransformerConfig",
        "megatron.bridge.models.mla_provider.MLAModelProvider",
    ],
}
# The size of a model has the default 0 there, which is no model that anybody trains.
NO_MODEL = ("model.num_layers", "model.hidden_size", "model.num_attention_heads")


@dataclass
class Module:
    path: Path
    name: str
    imports: dict[str, str] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)


class Tree:
    """One release, found by file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.module = cache(self._module)

    def _module(self, name: str) -> Module | None:
        base = self.root.joinpath(*name.split("."))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                module = Module(path, name)
                self._read(module, ast.parse(path.read_text()).body)
                return module
        return None

    def _read(self, module: Module, body: list[ast.stmt]) -> None:
        package = module.name if module.path.name == "__init__.py" else module.name.rpartition(".")[0]
        for node in body:
            if isinstance(node, ast.ImportFrom):
                source = node.module or ""
                if node.level:
                    parts = package.split(".")[: len(package.split(".")) - node.level + 1]
                    source = ".".join([*parts, *([node.module] if node.module else [])])
                for alias in node.names:
                    module.imports[alias.asname or alias.name] = f"{source}.{alias.name}"
            elif isinstance(node, ast.ClassDef):
                module.classes[node.name] = node
            elif (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                module.values[node.targets[0].id] = node.value
            elif (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and node.value is not None
            ):
                module.values[node.target.id] = node.value
            elif isinstance(node, (ast.Try, ast.If)):
                self._read(module, node.body)

    def find(self, module: Module, name: str) -> tuple[Module, ast.ClassDef] | None:
        """The class that ``name`` means in ``module``."""
        if name in module.classes:
            return module, module.classes[name]
        target = module.imports.get(name)
        return self.by_path(target) if target else None

    def by_path(self, dotted: str) -> tuple[Module, ast.ClassDef] | None:
        source, _, name = dotted.rpartition(".")
        module = self.module(source)
        return self.find(module, name) if module else None

    def fields(self, module: Module, node: ast.ClassDef) -> dict[str, Any]:
        """Every dataclass field with its default, bases first, so that the nearest class wins."""
        found: dict[str, Any] = {}
        for base in reversed(node.bases):
            if isinstance(base, ast.Name) and (place := self.find(module, base.id)):
                found |= self.fields(*place)
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                if item.target.id.startswith("_") or "ClassVar" in ast.unparse(item.annotation):
                    continue
                found[item.target.id] = self.default(module, item.value)
            elif isinstance(item, ast.FunctionDef) and item.name == "__init__":
                for argument, value in _arguments(item):
                    found.setdefault(argument.arg, self.default(module, value))
        return found

    def default(self, module: Module, node: ast.expr | None) -> Any:
        if node is None:
            return UNKNOWN
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("field"):
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            if "default" in keywords:
                return self.default(module, keywords["default"])
            factory = keywords.get("default_factory")
            if isinstance(factory, ast.Lambda):
                return self.default(module, factory.body)
            return {"list": [], "dict": {}}.get(ast.unparse(factory), UNKNOWN) if factory else UNKNOWN
        try:
            value = ast.literal_eval(node)
            return list(value) if isinstance(value, tuple) else value
        except ValueError:
            pass
        if isinstance(node, ast.Attribute):
            return ast.unparse(node)  # torch.float32, F.gelu, AttnBackend.auto
        if isinstance(node, ast.Name) and node.id in module.values:
            return self.default(module, module.values[node.id])
        return UNKNOWN


def _arguments(function: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr | None]]:
    """The arguments of a hand-written ``__init__``, each with its default."""
    positional = function.args.args[1:]
    values = [None] * (len(positional) - len(function.args.defaults)) + function.args.defaults
    return [
        *zip(positional, values, strict=True),
        *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True),
    ]


def defaults(root: Path) -> dict[str, Any]:
    """Every path of that release with its default."""
    tree = Tree(root)
    module = tree.module("megatron.bridge.training.config")
    assert module is not None
    container = module.classes["ConfigContainer"]
    found: dict[str, Any] = {}
    for item in container.body:
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        section = item.target.id
        if section.startswith("_"):
            continue
        names = [node for node in ast.walk(item.annotation) if isinstance(node, ast.Name)]
        names.sort(key=lambda node: (node.lineno, node.col_offset))  # the first class named wins
        places = [place for node in names if (place := tree.find(module, node.id))]
        places += [place for path in EXTRA_CLASSES.get(section, []) if (place := tree.by_path(path))]
        unset = isinstance(item.value, ast.Constant) and item.value.value is None
        if not places or unset:
            found[section] = tree.default(module, item.value)
        for place in places:
            for name, value in tree.fields(*place).items():
                found.setdefault(f"{section}.{name}", None if unset else value)
    for path in NO_MODEL:
        found[path] = UNKNOWN
    return found


def main(arguments: list[str]) -> None:
    releases = dict(argument.split("=", 1) for argument in arguments)
    table: dict[str, dict[str, Any]] = {}
    for release, root in releases.items():
        found = defaults(Path(root))
        print(release, len(found))
        for path in found.keys() | table.keys():
            value = found.get(path, ABSENT)
            history = table.setdefault(path, {})
            last = list(history.values())[-1] if history else ABSENT
            if json.dumps(value) != json.dumps(last):
                history[release] = value
    words = {json.dumps(UNKNOWN): '"?"', json.dumps(ABSENT): '"-"'}
    lines = []
    for path, history in sorted(table.items()):
        items = (
            f"{json.dumps(release)}: {words.get(text := json.dumps(value), text)}"
            for release, value in history.items()
        )
        lines.append(f"{json.dumps(path)}: {{{', '.join(items)}}}")
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
