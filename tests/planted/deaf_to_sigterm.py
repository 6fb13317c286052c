"""Both ranks ignore SIGTERM and SIGINT, print for ever, and have a child of their own each."""

import os
import signal
import subprocess
import sys
import time

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
while True:
    print(f"rank {os.environ['RANK']} works", flush=True)
    time.sleep(0.2)
