"""What the log parser recognises, one file per kind. A new kind: a file and a line in RECOGNISERS."""

from __future__ import annotations

from mbridge_skills.logs.recognisers.base import Recogniser
from mbridge_skills.logs.recognisers.checkpoint import CheckpointRecogniser
from mbridge_skills.logs.recognisers.fault import FaultRecogniser
from mbridge_skills.logs.recognisers.iteration import IterationRecogniser
from mbridge_skills.logs.recognisers.marker import MarkerRecogniser
from mbridge_skills.logs.recognisers.pytest_session import PytestRecogniser
from mbridge_skills.logs.recognisers.torchrun import TorchrunRecogniser
from mbridge_skills.logs.recognisers.traceback import TracebackRecogniser
from mbridge_skills.logs.recognisers.training_done import TrainingDoneRecogniser

# The order is that of the events of one line: a phase is known before its iterations.
RECOGNISERS: tuple[type[Recogniser], ...] = (
    MarkerRecogniser,
    IterationRecogniser,
    TrainingDoneRecogniser,
    CheckpointRecogniser,
    PytestRecogniser,
    TracebackRecogniser,
    FaultRecogniser,
    TorchrunRecogniser,
)
