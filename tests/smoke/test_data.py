import pytest

torch = pytest.importorskip("torch")

from mbridge_skills.smoke import shape  # noqa: E402
from mbridge_skills.smoke.data import DataSource  # noqa: E402

CPU = torch.device("cpu")


def tokens(iteration=1, **changes):
    source = DataSource(
        **{"device": CPU, "data_parallel_rank": 0, "microbatches": 2, "seed": 1234, **changes}
    )
    return [batch.tokens for batch in source.batches(iteration)]


def test_shapes_and_range():
    (batch, _) = DataSource(CPU, 0, 2, 1234).batches(1)
    assert batch.tokens.shape == (shape.MICRO_BATCH_SIZE, shape.SEQUENCE_LENGTH)
    assert batch.positions[0].tolist() == list(range(shape.SEQUENCE_LENGTH))
    assert batch.mask.shape == (1, 1, shape.SEQUENCE_LENGTH, shape.SEQUENCE_LENGTH)
    assert not batch.mask[0, 0, 5, 5]
    assert batch.mask[0, 0, 5, 6]
    assert batch.tokens.min() >= 0
    assert batch.tokens.max() < shape.VOCABULARY


def test_the_same_request_gives_the_same_tokens():
    for first, second in zip(tokens(), tokens(), strict=True):
        assert torch.equal(first, second)


def test_the_global_generator_is_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    tokens()
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.parametrize("change", [{"iteration": 2}, {"data_parallel_rank": 1}, {"seed": 1}])
def test_other_requests_give_other_tokens(change):
    assert not torch.equal(tokens(**change)[0], tokens()[0])


def test_microbatches_differ():
    first, second = tokens()
    assert not torch.equal(first, second)


def test_context_parallel_ranks_share_the_sequence_out():
    whole = tokens()[0]
    parts = [tokens(cp_size=2, cp_rank=rank)[0] for rank in (0, 1)]
    quarter = shape.SEQUENCE_LENGTH // 4
    chunks = whole.split(quarter, dim=1)
    assert torch.equal(parts[0], torch.cat([chunks[0], chunks[3]], dim=1))
    assert torch.equal(parts[1], torch.cat([chunks[1], chunks[2]], dim=1))
