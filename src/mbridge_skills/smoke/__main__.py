"""Train with Megatron FSDP, save half-way, resume into a fresh model, and train the DDP reference."""

from __future__ import annotations

import sys

from mbridge_skills.errors import SkillError
from mbridge_skills.exit_codes import ExitCode
from mbridge_skills.smoke import checkpoint, report, settings, trainee, training
from mbridge_skills.smoke.cpu_device import CudaPresentError
from mbridge_skills.smoke.data import DataSource
from mbridge_skills.smoke.options import Options, parse
from mbridge_skills.smoke.world import CannotRunHereError, World, joined

TRAIN, RESUME, REFERENCE = "train", "resume", "reference"


def main(argv: list[str] | None = None) -> int:
    """Run all phases on this rank; returns the exit code."""
    try:
        options = parse(argv)
        with joined(options) as world:
            run(options, world)
    except (CannotRunHereError, CudaPresentError) as reason:
        report.cannot_run(str(reason))
        return int(ExitCode.NOT_RUN)
    except SkillError as error:
        sys.stderr.write(f"error: {error}\n")
        return int(error.exit_code)
    return int(ExitCode.OK)


def run(options: Options, world: World) -> None:
    """The three phases, in a joined world."""
    chosen = settings.from_card(options)
    reporter = report.Reporter(options, world)
    reporter.environment(chosen)
    data = DataSource(
        device=world.device,
        data_parallel_rank=world.data_parallel_rank,
        microbatches=options.microbatches,
        seed=options.seed,
        cp_size=options.cp,
        cp_rank=world.cp_rank,
    )
    half = options.iterations // 2
    folder = options.work / f"iter_{half:07d}"

    reporter.phase(TRAIN)
    model = trainee.with_fsdp(options, world, chosen.fsdp_config(), seed=options.seed)
    training.run_iterations(model, data, range(1, half + 1), reporter.iteration)
    reporter.saving(half, folder, chosen.ckpt_format)
    checkpoint.save(model, folder, chosen.ckpt_format)
    reporter.saved(half, folder)
    training.run_iterations(model, data, range(half + 1, options.iterations + 1), reporter.iteration)

    reporter.phase(RESUME)
    # Other weights than the trained ones, so that only a real load can make the losses meet.
    fresh = trainee.with_fsdp(options, world, chosen.fsdp_config(), seed=options.seed + 1)
    checkpoint.load(fresh, folder)
    reporter.loaded(half, folder)
    training.run_iterations(fresh, data, range(half + 1, options.iterations + 1), reporter.iteration)

    reporter.phase(REFERENCE)
    reference = trainee.with_reference(options, world, seed=options.seed)
    training.run_iterations(reference, data, range(1, options.iterations + 1), reporter.iteration)

    reporter.finished()


if __name__ == "__main__":
    sys.exit(main())
