"""Iteration records: the line that Megatron-LM and Megatron-Bridge print every ``log_interval`` iterations.

Written by ``training_log`` (Megatron-LM ``megatron/training/training.py``; Megatron-Bridge
``training/utils/train_utils.py``): ``iteration N/TOTAL | key: value | ... | number of nan iterations: N |``,
with a date before it since 2024. The last rank prints it, so it may begin behind another rank's unfinished
line. Bridge's rank 0 prints the throughput in a line of its own just before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from mbridge_skills.logs.attribution import Source
from mbridge_skills.logs.events import Event, Iteration
from mbridge_skills.logs.recognisers.base import NOTHING, Recogniser

_HEADER = re.compile(
    r"\biteration +(?P<iteration>\d{1,18})/(?: *(?P<total>\d{1,18}) +\||(?P<cut> *\d*$))", re.ASCII
)
_DATE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\] $", re.ASCII)
_LONGEST_DATE = len("[2026-11-30 19:45:37.123456789] ")
_STEP_TIME = re.compile(r"Step Time : *\S+ GPU utilization: *([-+.\w]+?)MODEL_TFLOP")
_MOST_FIELDS = 200
_LONGEST_NUMBER = 64

_FLOATS = {
    "elapsed time per iteration (ms)": "step_time_ms",
    "throughput per GPU (TFLOP/s/GPU)": "tflops",
    "learning rate": "learning_rate",
    "loss scale": "loss_scale",
    "grad norm": "grad_norm",
    "params norm": "params_norm",
}
_INTEGERS = {
    "consumed samples": "consumed_samples",
    "global batch size": "global_batch_size",
    "number of skipped iterations": "skipped",
    "number of nan iterations": "nan",  # the last field
}


class IterationRecogniser(Recogniser):
    """Gives an :class:`Iteration` per record, ``phase`` left to the parser."""

    hints = ("iteration ", "MODEL_TFLOP")

    def __init__(self) -> None:
        # One value, whatever its rank: rank 0 prints the throughput, the last rank the record it belongs to.
        self._tflops: float | None = None

    def read(self, line: int, source: Source, text: str) -> Sequence[Event]:
        """The records that begin in the line."""
        if "iteration " not in text:
            self._step_time(text)
            return NOTHING
        headers = list(_headers(text))
        events = []
        done = 0
        for index, header in enumerate(headers):
            self._step_time(text[done : header.start()])
            done = header.end()
            following = headers[index + 1].start() if index + 1 < len(headers) else len(text)
            record = _record(line, source, header, text[done:following], self._tflops)
            if record is not None:
                self._tflops = None
                events.append(record)
        self._step_time(text[done:])
        return events

    def _step_time(self, text: str) -> None:
        if "MODEL_TFLOP" in text:
            for found in _STEP_TIME.finditer(text):
                self._tflops = _number(found.group(1))


def _headers(text: str) -> Iterator[re.Match[str]]:
    start = text.find("iteration ")
    while start >= 0:
        if header := _HEADER.match(text, start):
            yield header
        start = text.find("iteration ", start + 1)


def _record(
    line: int, source: Source, header: re.Match[str], body: str, tflops: float | None
) -> Iteration | None:
    values: dict[str, Any] = {}
    losses: dict[str, float] = {}
    closed = False
    # What stands behind the last bar may be cut off anywhere: a number there is whole only before a space.
    *fields, rest = body.split("|", _MOST_FIELDS)
    if rest.endswith((" ", "\t")):
        fields.append(rest)
    for field in fields:
        key, _, value = field.strip().partition(": ")
        number = _number(value)
        if number is None:
            if closed:
                break  # other output on the same line
        elif name := _FLOATS.get(key):
            values.setdefault(name, number)
        elif name := _INTEGERS.get(key):
            if number.is_integer():
                values.setdefault(name, int(number))
                closed = closed or (name == "nan" and field is not rest)
        elif "loss" in key and "loss scale" not in key:
            losses.setdefault(sys.intern(key), number)
    if not values and not losses and (any(map(str.strip, fields)) or not _dated(header)):
        return None  # "iteration 3/10 |" of something else
    values.setdefault("tflops", tflops)
    total = header["total"]
    return Iteration(
        line=line,
        rank=source.rank,
        iteration=int(header["iteration"]),
        total=None if total is None else int(total),
        losses=losses,
        complete=closed,
        **values,
    )


def _dated(header: re.Match[str]) -> bool:
    start = header.start()
    return _DATE.search(header.string[max(start - _LONGEST_DATE, 0) : start]) is not None


def _number(text: str) -> float | None:
    if len(text) > _LONGEST_NUMBER or "_" in text:  # Python's float() takes 1_000; no log has it
        return None
    try:
        return float(text)
    except ValueError:
        return None
