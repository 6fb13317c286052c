"""Compare our judgements with verdicts of upstream's real ``validate()``.

    python tests/oracle/compare.py FOLDER [--show N]

FOLDER has ``verdicts-<bridge>.jsonl.gz``. Prints, per release and stratum, how many verdicts agree, and how
many of the recorded first errors are among ours; then precision and recall of the settings that upstream
changes silently, over the records that it accepts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mbridge_skills.gotchas.batch import Batch
from mbridge_skills.gotchas.judge import Judge, Judgement
from mbridge_skills.gotchas.load import load_gotchas
from mbridge_skills.releases.table import REFERENCE_MODEL, release_of

SKILL = Path(__file__).parents[2] / "skills" / "nemo-mbridge-perf-megatron-fsdp"

# What validate() fills in for every configuration: initialisers, sizes that follow from others, the dataset's
# and the scheduler's own values. It says nothing about the configuration.
FILLED_IN = re.compile(
    r"data_parallel_size|(dataset|scheduler|validation)\..*|model\.(expert_tensor_parallel_size|autocast_dtype"
    r"|microbatch_group_size_per_vp_stage|kv_channels|.*init_method.*|recompute_modules|cuda_graph_(modules|scope)"
    r"|inference_cuda_graph_scope|num_query_groups)|optimizer\.use_precision_aware_optimizer_no_fp8_or_ds_fp8"
)


@cache
def pattern(message: str) -> re.Pattern[str]:
    """The messages that ``message`` stands for: each ``...`` is anything."""
    return re.compile(".*".join(re.escape(part) for part in message.split("...")), re.DOTALL)


def has_first_error(record: dict[str, Any], judgement: Judgement) -> bool:
    """Whether the error that upstream raised is among ours, by exception and message."""
    said = " ".join(record["msg"].split())
    return any(
        finding.stops_validation
        and finding.exception == record["exc"]
        and pattern(finding.message or "").fullmatch(said) is not None
        for finding in judgement.findings
    )


def changed_by_upstream(record: dict[str, Any]) -> set[str]:
    """The settings that upstream changed, without what it fills in for everybody."""
    return {path for path in record["changed"] if not FILLED_IN.fullmatch(path)}


@dataclass
class Score:
    records: int = 0
    verdicts: int = 0
    errors: int = 0
    first_errors: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    predicted: int = 0
    changed: int = 0
    both: int = 0
    wrong: list[tuple[dict[str, Any], Judgement]] = field(default_factory=list)
    mispredicted: Counter[str] = field(default_factory=Counter)

    def add(self, record: dict[str, Any], judgement: Judgement) -> None:
        self.records += 1
        agrees = judgement.verdict == record["outcome"]
        self.verdicts += agrees
        found = True
        if record["outcome"] == "error":
            self.errors += 1
            found = has_first_error(record, judgement)
            self.first_errors += found
        else:
            ours = {path for finding in judgement.findings for path in finding.becomes}
            theirs = changed_by_upstream(record)
            self.predicted += len(ours)
            self.changed += len(theirs)
            self.both += len(ours & theirs)
            self.mispredicted.update(f"-{path}" for path in theirs - ours)
            self.mispredicted.update(f"+{path}" for path in ours - theirs)
        if not (agrees and found):
            self.wrong.append((record, judgement))


def batch_for(bridge: str, core: str) -> Batch:
    """Our judge for that pair of releases, with all gotchas of the skill."""
    return Batch(Judge(load_gotchas(SKILL), release_of(bridge, core), assumed=REFERENCE_MODEL))


def records_of(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def score(records: Iterable[dict[str, Any]]) -> dict[tuple[str, str], Score]:
    """By release and stratum."""
    batches: dict[tuple[str, str], Batch] = {}
    scores: dict[tuple[str, str], Score] = defaultdict(Score)
    for record in records:
        pair = (record["version"], record["core"])
        if pair not in batches:
            batches[pair] = batch_for(*pair)
        scores[record["version"], record["stratum"]].add(record, batches[pair].judge(record))
    return scores


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:7.2f}" if whole else "      -"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare with verdicts of upstream's validate().")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", type=int, default=0, help="print so many disagreements per release")
    options = parser.parse_args()
    print("release  stratum     records  verdict %  first error %  changes: precision %  recall %")
    for path in sorted(options.folder.glob("verdicts-*.jsonl.gz")):
        started = time.perf_counter()
        scores = score(records_of(path))
        seconds = time.perf_counter() - started
        for (version, stratum), one in sorted(scores.items()):
            agree = percent(one.verdicts, one.records), percent(one.first_errors, one.errors)
            changes = percent(one.both, one.predicted), percent(one.both, one.changed)
            print(
                f"{version:8} {stratum:12} {one.records:6}    {agree[0]}        {agree[1]}"
                f"               {changes[0]}   {changes[1]}"
            )
        total = sum(one.records for one in scores.values())
        print(f"         {total} records in {seconds:.2f} s, reading and comparing included")
        if options.show:
            wrong = [item for one in scores.values() for item in one.wrong]
            for record, judgement in wrong[: options.show]:
                ours = [(finding.code, finding.message) for finding in judgement.findings]
                undecided = [gotcha.code for gotcha in judgement.undecided]
                theirs = (record["outcome"], record.get("msg"))
                print(record["id"], record["stratum"], theirs, judgement.verdict, ours, undecided)
            print(sum((one.mispredicted for one in scores.values()), Counter()).most_common(8))


if __name__ == "__main__":
    main()
