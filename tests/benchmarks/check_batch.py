"""How fast flat configurations are judged: python tests/benchmarks/check_batch.py [FILE.jsonl[.gz]]

Prints configurations a second in one process, and the time of whole processes for one configuration: of the
first, then the median of 20.
"""

from __future__ import annotations

import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).parents[2]
SAMPLE = TOP / "tests" / "oracle" / "sample.jsonl.gz"
COMMAND = [
    sys.executable,
    "-m",
    "mbridge_skills",
    "run",
    "check",
    "--bundle",
    str(TOP),
    "--bridge-version",
    "0.6.2",
]


def seconds(path: Path) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        [*COMMAND, "--exit-zero", "--batch", str(path)], stdout=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0
    return time.perf_counter() - started


def main() -> None:
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    text = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    lines = text.decode().splitlines()
    keys = ("id", "config", "world_size", "device_cc", "env")
    lines = [json.dumps({key: json.loads(line).get(key) for key in keys}) for line in lines]
    lines *= max(1, 40_000 // len(lines))
    with tempfile.TemporaryDirectory() as folder:
        one, many = Path(folder, "one.jsonl"), Path(folder, "many.jsonl")
        one.write_text(lines[0] + "\n")
        many.write_text("\n".join(lines) + "\n")
        print(f"one configuration, first process:      {seconds(one):.3f} s")
        start = statistics.median(seconds(one) for _ in range(20))
        print(f"one configuration, median of 20:       {start:.3f} s")
        whole = seconds(many)
        print(
            f"{len(lines)} configurations, whole process:  {whole:.2f} s, {len(lines) / whole:,.0f} a second"
        )
        print(f"  without start-up:                    {len(lines) / (whole - start):,.0f} a second")


if __name__ == "__main__":
    main()
