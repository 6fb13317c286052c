import inspect

import pytest

torch = pytest.importorskip("torch")

from torch.distributed.device_mesh import DeviceMesh  # noqa: E402

from mbridge_skills.smoke import cpu_device  # noqa: E402

OWNERS = (torch, torch.Tensor, torch.nn.Module, torch.cuda, torch.cuda.random, torch.cuda.nvtx, DeviceMesh)


def everything() -> dict:
    return {(owner.__name__, name): value for owner in OWNERS for name, value in vars(owner).items()}


@pytest.fixture
def simulated():
    with cpu_device.cpu_device():
        yield


def test_everything_is_put_back():
    before = everything()
    with cpu_device.cpu_device():
        assert everything() != before
    after = everything()
    assert {key for key in before.keys() | after.keys() if before.get(key) is not after.get(key)} == set()


def test_everything_is_put_back_after_an_error():
    before = everything()
    with pytest.raises(ZeroDivisionError), cpu_device.cpu_device():
        raise ZeroDivisionError
    assert all(everything()[key] is value for key, value in before.items())


def test_it_nests():
    before = everything()
    with cpu_device.cpu_device(), cpu_device.cpu_device():
        assert torch.zeros(2, device="cuda").device.type == "cpu"
    assert all(everything()[key] is value for key, value in before.items())


def test_it_refuses_to_stand_beside_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(cpu_device.CudaPresentError, match="--device=cuda"), cpu_device.cpu_device():
        pass


def test_unless_asked_to(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with cpu_device.cpu_device(beside_cuda=True):
        assert torch.ones(1, device="cuda").device.type == "cpu"


@pytest.mark.parametrize("device", ["cuda", "cuda:1", torch.device("cuda", 0), 0, None, "cpu"])
@pytest.mark.parametrize(
    "make",
    [
        lambda device: torch.empty(2, device=device),
        lambda device: torch.tensor([1.0], device=device),
        lambda device: torch.arange(3, device=device),
        lambda device: torch.zeros_like(torch.ones(2), device=device),
        lambda device: torch.ones(2).new_zeros(3, device=device),
        lambda device: torch.ones(2).to(device=device),
    ],
)
@pytest.mark.usefixtures("simulated")
def test_tensors_asked_for_on_a_gpu_are_on_the_cpu(make, device):
    assert make(device).device.type == "cpu"


@pytest.mark.parametrize("device", ["cuda", torch.device("cuda", 3)])
@pytest.mark.usefixtures("simulated")
def test_moving_to_a_gpu(device):
    moved = torch.ones(2)
    assert moved.to(device) is moved
    assert moved.cuda() is moved
    assert torch.nn.Linear(2, 2).to(device).cuda().weight.device.type == "cpu"


@pytest.mark.usefixtures("simulated")
class TestLeavesAlone:
    """What names no CUDA device means what it always means."""

    def test_numbers_that_are_no_device(self):
        assert torch.full((2, 2), 7).tolist() == [[7, 7], [7, 7]]
        assert torch.arange(1, 4).tolist() == [1, 2, 3]
        assert torch.tensor(0).item() == 0
        assert torch.randint(0, 1, (2,)).tolist() == [0, 0]

    def test_other_devices(self):
        assert torch.empty(2, device="meta").device.type == "meta"
        assert torch.ones(2).to("meta").device.type == "meta"

    def test_dtypes(self):
        assert torch.ones(2).to(torch.bfloat16).dtype is torch.bfloat16
        assert torch.ones(2).to("cpu", torch.float64).dtype is torch.float64
        assert torch.ones(2).type(torch.int32).dtype is torch.int32

    def test_errors_are_torchs_own(self):
        with pytest.raises(RuntimeError, match="nonsense"):
            torch.zeros(2, device="nonsense")

    def test_signatures_keep_their_names(self):
        assert torch.zeros.__name__ == "zeros"
        assert inspect.isroutine(torch.zeros)


@pytest.mark.usefixtures("simulated")
def test_factories_inside_backward():
    """A torch function mode would not reach here: autograd's engine runs the code without it."""
    made = []

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            return value * 2

        @staticmethod
        def backward(context, gradient):
            made.append(torch.full((1,), 2.0, device=torch.cuda.current_device()))
            return gradient * made[-1]

    value = torch.ones(3, requires_grad=True)
    Doubled.apply(value).sum().backward()
    assert value.grad.tolist() == [2.0, 2.0, 2.0]
    assert made[0].device.type == "cpu"


@pytest.mark.usefixtures("simulated")
def test_seeding_cuda_leaves_the_cpu_generator_alone():
    torch.manual_seed(1)
    expected = torch.rand(3).tolist()
    torch.manual_seed(1)
    torch.cuda.manual_seed(99)
    torch.cuda.set_rng_state(torch.cuda.get_rng_state())
    assert torch.rand(3).tolist() == expected


@pytest.mark.usefixtures("simulated")
def test_cudas_rng_state_comes_back():
    torch.cuda.manual_seed(5)
    state = torch.cuda.get_rng_state()
    torch.cuda.manual_seed(6)
    assert not torch.equal(torch.cuda.get_rng_state(), state)
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.cuda.get_rng_state(), state)


@pytest.mark.parametrize(
    ("tensor", "name"),
    [
        (torch.zeros(1), "torch.cuda.FloatTensor"),
        (torch.zeros(1, dtype=torch.bfloat16), "torch.cuda.BFloat16Tensor"),
        (torch.zeros(1, dtype=torch.half), "torch.cuda.HalfTensor"),
    ],
)
def test_type_names_are_cudas_inside_and_torchs_outside(tensor, name):
    with cpu_device.cpu_device():
        assert tensor.type() == name
    assert tensor.type() == name.replace("cuda.", "")


@pytest.mark.usefixtures("simulated")
def test_streams_and_events_do_nothing_and_are_always_done():
    stream, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        event.record()
    stream.wait_stream(torch.cuda.current_stream())
    stream.wait_event(event)
    assert stream.query()
    assert stream.record_event().query()
    assert event.elapsed_time(event) == 0.0
    assert torch.cuda.memory_allocated() == 0
