"""Names of Transformer Engine that Megatron-Core uses although it could not import them.

Without Transformer Engine, two releases trip over their own fallback:

- megatron-core 0.16.1 and 0.17.1: under tensor parallelism the FSDP wrapper asks
  ``isinstance(module, TELinear)``, and TELinear is no class
  (mcore_fsdp_adapter, FullyShardedDataParallel._fix_tensor_parallel_attributes).
- megatron-core 0.16.1: the router of a mixture of experts compares ``te_general_gemm`` with None, and the
  name does not exist (moe_utils.RouterGatingLinearFunction).

Each gets the value that makes the fallback work: a class that no module is of, and None.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec

from megatron.core.distributed.fsdp import mcore_fsdp_adapter
from megatron.core.transformer.moe import moe_utils


class _NoLinear:
    """No module is an instance of this."""


@contextlib.contextmanager
def names_supplied(*, tensor_parallel: bool, experts: bool) -> Iterator[tuple[str, ...]]:
    """Supply the names that a layout needs, for the time of the block; gives those that were supplied.

    Nothing is touched where Transformer Engine is installed, or the release does not need it.
    """
    supplied = []
    with contextlib.ExitStack() as undo:
        if find_spec("transformer_engine") is None:
            stand_in = getattr(mcore_fsdp_adapter, "TELinear", _NoLinear)
            if tensor_parallel and not isinstance(stand_in, type):
                undo.callback(setattr, mcore_fsdp_adapter, "TELinear", stand_in)
                mcore_fsdp_adapter.TELinear = _NoLinear
                supplied.append("mcore_fsdp_adapter.TELinear")
            names_used = moe_utils.RouterGatingLinearFunction.forward.__code__.co_names
            if experts and "te_general_gemm" in names_used and not hasattr(moe_utils, "te_general_gemm"):
                undo.callback(delattr, moe_utils, "te_general_gemm")
                moe_utils.te_general_gemm = None
                supplied.append("moe_utils.te_general_gemm")
        yield tuple(supplied)
