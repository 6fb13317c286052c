"""How long commands take to start, as a multiple of starting Python itself, in one run.

python tests/benchmarks/startup.py
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

BIN = Path(sys.executable).parent
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "skill --help": [BIN / "skill", "--help"],
    "skill run verify --help": [BIN / "skill", "run", "verify", "--help"],
    "skill list": [BIN / "skill", "list"],
    "skill show": [BIN / "skill", "show"],
}
ROUNDS = 15


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):  # interleaved, so that a busy moment hits all alike
        for name, argv in COMMANDS.items():
            begun = time.perf_counter()
            subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
            times[name].append(time.perf_counter() - begun)
    base = statistics.median(times["python -c pass"])
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:28} {middle * 1000:6.0f} ms  {middle / base:5.1f} x python")


if __name__ == "__main__":
    main()
