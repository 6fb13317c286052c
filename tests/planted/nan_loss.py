"""The loss is no number from iteration 3 of the training on."""

import sys

from mbridge_skills.smoke import training
from mbridge_skills.smoke.__main__ import main

real_step, real_loss = training.train_step, training.loss_function
current = 0


def train_step(trainee, data, iteration):
    global current
    current = iteration
    return real_step(trainee, data, iteration)


def loss_function(losses):
    return real_loss(losses * float("nan") if current == 3 else losses)


training.train_step, training.loss_function = train_step, loss_function
sys.exit(main())
