"""Arguments of a training program: Megatron-LM's, and those of Megatron-Bridge's performance scripts.

Words such as ``ddp.use_megatron_fsdp=true`` among them are overrides of the recipe.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mbridge_skills.config.view import UNKNOWN, Origin, Setting, TrainingConfig
from mbridge_skills.readers.flags import NOTHING, Flag, megatron_flags, performance_flags
from mbridge_skills.readers.layer import SECTIONS, Layer
from mbridge_skills.readers.overrides import apply_override, parse_override
from mbridge_skills.readers.words import HOLE, Word, split_words

MEGATRON_DEFAULTS: dict[str, Any] = {
    "ddp.check_for_nan_in_grad": True,
    "ddp.data_parallel_sharding_strategy": "optim_grads_params",
    "model.gradient_accumulation_fusion": True,
}
"""What an argument means that is not given, where that is not the field's default (Megatron-LM main,
megatron/training/arguments.py)."""

_DEFAULT = Origin(note="default of Megatron-LM's arguments")
_TELLING = (
    "ddp.",
    "dist.",
    "checkpoint.ckpt_format",
    "checkpoint.fully_parallel",
    "optimizer.use_distributed_optimizer",
    "train.global_batch_size",
)
_MANY = 6
_WORLD_SIZE = "@world_size"
_RECIPE = frozenset(
    {"--recipe", "--recipe_name", "--config-file", "--config_file", "-m", "--model_family_name"}
)


class ArgumentReader:
    """Reads words in the order they stand; ``layer`` has what they set."""

    def __init__(self) -> None:
        self.layer = Layer()
        self.recognised = 0
        self._overrides = 0
        self._megatron = False
        self._based = False
        self._flags: list[tuple[Flag, list[Word], Word]] = []

    def read(self, words: Iterable[Word]) -> None:
        """Read the words that follow the program's name.

        Overrides take effect first, then the flags, as in scripts/performance/run_script.py.
        """
        rest = list(words)
        i = 0
        while i < len(rest):
            i = self._one(rest, i)
        for flag, values, word in self._flags:
            self._apply(flag, values, word)
        if self._megatron and not self._based:
            for path, value in MEGATRON_DEFAULTS.items():
                self.layer.settings.setdefault(path, Setting(value, _DEFAULT))
        elif self.recognised:
            self.layer.opaque.add("")

    @property
    def telling(self) -> bool:
        """Whether what was read is about training with Megatron, and not a word that other programs know
        too."""
        if self._overrides:
            return True
        known = {path for path, setting in self.layer.settings.items() if setting.origin is not _DEFAULT}
        return len(known) >= _MANY or any(path.startswith(_TELLING) for path in known)

    def _one(self, words: list[Word], i: int) -> int:
        word = words[i]
        if word.text == HOLE:
            self.layer.opaque.add("")
            return i + 1
        if not word.text.startswith("-") or _is_number(word.text):
            self._override(word)
            return i + 1
        name, equals, attached = word.text.partition("=")
        if name in _RECIPE:
            self._based = True
        flag = megatron_flags().get(name)
        if flag is not None:
            self._megatron = True
        else:
            flag = performance_flags().get(name)
            self._based = self._based or flag is not None
        if flag is None:  # what is not known behind it is its value
            valued = not equals and i + 1 < len(words) and words[i + 1].text.startswith(HOLE)
            return i + 2 if valued else i + 1
        if flag.bare:
            self._flags.append((flag, [], word))
            return i + 1
        if equals:
            self._flags.append((flag, [Word(attached, word.origin)], word))
            return i + 1
        values = _values(words, i + 1, flag)
        self._flags.append((flag, values, word))
        return i + 1 + len(values)

    def _override(self, word: Word) -> None:
        override = parse_override(word.text)
        if override is None or override.path.split(".")[0] not in SECTIONS or HOLE in override.path:
            return
        self.recognised += 1
        self._overrides += 1
        self._based = True
        apply_override(override, self.layer, word.origin)

    def _apply(self, flag: Flag, values: list[Word], word: Word) -> None:
        if not flag.paths:
            return
        self.recognised += 1
        value = flag.value([each.text for each in values])
        if value is NOTHING:
            return
        for path in flag.paths:
            if path == _WORLD_SIZE:
                self.layer.world_size = value
            else:
                self.layer.set(path, value, word.origin)
        for path, implied in flag.implies:
            known = value is not UNKNOWN or flag.kind != "iftrue"
            self.layer.set(path, implied if known else UNKNOWN, word.origin)


def _values(words: list[Word], i: int, flag: Flag) -> list[Word]:
    values: list[Word] = []
    while i < len(words) and (flag.several or not values):
        text = words[i].text
        if text.startswith("-") and not _is_number(text):
            break
        if flag.several and values and parse_override(text) is not None:
            break
        values.append(words[i])
        i += 1
    return values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_arguments(
    text: str | Iterable[str], path: Path | None = None, note: str = "arguments"
) -> list[TrainingConfig]:
    """Read arguments: one string that is split as a shell would, or the single words.

    Raises:
        InputError: a quotation is not closed.
    """
    if isinstance(text, str):
        words = split_words(text, path, note)
    else:
        words = [Word(item, Origin(path, note=note)) for item in text]
    reader = ArgumentReader()
    reader.read(words)
    return [reader.layer.build(note, path)] if reader.recognised else []
