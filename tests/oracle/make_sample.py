"""Make ``sample.jsonl.gz`` from a folder of verdict files: some of every error and change, per release."""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from pathlib import Path

from compare import changed_by_upstream, records_of

OUTPUT = Path(__file__).parent / "sample.jsonl.gz"
KEPT = (
    "id",
    "version",
    "core",
    "stratum",
    "config",
    "world_size",
    "device_cc",
    "env",
    "outcome",
    "exc",
    "msg",
)


def main(folder: Path) -> None:
    lines = []
    for path in sorted(folder.glob("verdicts-*.jsonl.gz")):
        seen: Counter[tuple[str, ...]] = Counter()
        for record in records_of(path):
            if record["outcome"] == "error":
                kind = (record["stratum"], record["exc"], re.sub(r"\d+", "N", record["msg"]))
            else:
                kind = (record["stratum"], *sorted(changed_by_upstream(record)))
            most = 0 if record["stratum"] == "uniform" else 1
            if seen[kind] < most and sum(seen[other] for other in seen if other[1:] == kind[1:]) < 2:
                seen[kind] += 1
                changed = {name: record["changed"][name] for name in changed_by_upstream(record)}
                lines.append(
                    json.dumps({**{key: record[key] for key in KEPT if key in record}, "changed": changed})
                )
    OUTPUT.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", mtime=0))
    print(len(lines), "records", OUTPUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
