"""Rank 1 is killed at iteration 3."""

import os
import signal
import sys

from mbridge_skills.smoke import training
from mbridge_skills.smoke.__main__ import main

real_step = training.train_step


def train_step(trainee, data, iteration):
    if iteration == 3 and os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    return real_step(trainee, data, iteration)


training.train_step = train_step
sys.exit(main())
