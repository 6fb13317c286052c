"""Forward and backward are driven by hand, as many a script does, in place of Megatron's schedule."""

import contextlib
import sys

from mbridge_skills.smoke import training
from mbridge_skills.smoke.__main__ import main


def by_hand():
    def forward_backward(*, forward_step_func, data_iterator, model, num_microbatches, **_):
        (wrapped,) = model
        reports = []
        for number in range(num_microbatches):
            last = number == num_microbatches - 1
            with contextlib.nullcontext() if last else wrapped.no_sync():
                losses, loss_function = forward_step_func(data_iterator, wrapped)
                loss, report = loss_function(losses)
                (loss / num_microbatches).backward()
            reports.append(report)
        wrapped.finish_grad_sync()
        return reports

    return forward_backward


training.get_forward_backward_func = by_hand
sys.exit(main())
