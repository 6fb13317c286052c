"""Rank 1 sleeps for ever at iteration 3; rank 0 waits for it in a collective."""

import os
import sys
import time

from mbridge_skills.smoke import training
from mbridge_skills.smoke.__main__ import main

real_step = training.train_step


def train_step(trainee, data, iteration):
    if iteration == 3 and os.environ["RANK"] == "1":
        print("rank 1 stops here", flush=True)
        time.sleep(3600)
    return real_step(trainee, data, iteration)


training.train_step = train_step
sys.exit(main())
