"""How fast logs are parsed, as a multiple of merely splitting and decoding their lines, in one run.

python tests/benchmarks/log_parser.py [LOG...]
"""

import sys
import time
from pathlib import Path

from mbridge_skills.logs.summary import summarise_chunks

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
MEGABYTES = 8


def split_only(chunks: list[bytes]) -> int:
    return sum(len(line) for chunk in chunks for line in chunk.decode(errors="replace").split("\n"))


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]] or sorted(LOGS.glob("bridge-*.log"))
    once = b"".join(path.read_bytes() for path in paths)
    data = once * (1 + MEGABYTES * 2**20 // len(once))
    chunks = [data[start : start + (1 << 16)] for start in range(0, len(data), 1 << 16)]
    measured = {}
    for name, work in (("split and decode", split_only), ("parse and summarise", summarise_chunks)):
        begun = time.process_time()
        work(chunks)
        measured[name] = time.process_time() - begun
    lines = data.count(b"\n")
    for name, seconds in measured.items():
        ratio = seconds / measured["split and decode"]
        rate = f"{lines / seconds / 1000:7.0f} k lines/s  {len(data) / seconds / 1e6:6.0f} MB/s"
        print(f"{name:20} {rate}  {ratio:5.1f} x")


if __name__ == "__main__":
    main()
