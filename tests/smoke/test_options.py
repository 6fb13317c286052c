import pytest

from mbridge_skills.errors import InputError
from mbridge_skills.smoke.options import parse

NEEDED = ["--device=cpu", "--card=card.yaml", "--work=work"]


def test_defaults_are_a_dense_model_on_data_parallel_ranks_alone():
    options = parse(NEEDED)
    assert (options.tp, options.cp, options.ep, options.experts, options.microbatches) == (1, 1, 1, 0, 1)
    assert (options.dtype, options.strategy, options.ckpt_format) == ("fp32", None, None)


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["--strategy", "no_shard"], "strategy", "no_shard"),
        (["--tp=2"], "tp", 2),
        (["--experts=4", "--ep=2"], "ep", 2),
        (["--iterations=2"], "iterations", 2),
        (["--dtype=bf16"], "dtype", "bf16"),
        (["--ckpt-format", "torch_dist"], "ckpt_format", "torch_dist"),
    ],
)
def test_options(words, field, value):
    assert getattr(parse([*NEEDED, *words]), field) == value


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--strategy=full"], "invalid choice: 'full'"),
        (["--iterations=1"], "at least 2"),
        (["--tp=0"], "at least 1"),
        (["--tp=two"], "invalid"),
        (["--ep=2"], "needs a mixture of experts"),
        (["--experts=3", "--ep=2"], "not divisible"),
        (["--stratagy=optim"], "unrecognized arguments"),
        (["--iter=4"], "unrecognized arguments"),  # no abbreviations: a later option could change them
        (["--dtype=fp64"], "invalid choice"),
    ],
)
def test_what_is_refused(words, message):
    with pytest.raises(InputError, match=message):
        parse([*NEEDED, *words])


@pytest.mark.parametrize("missing", range(3))
def test_what_is_needed(missing):
    with pytest.raises(InputError, match="required"):
        parse([word for index, word in enumerate(NEEDED) if index != missing])
