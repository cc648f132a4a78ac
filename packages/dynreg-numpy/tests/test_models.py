"""Kinds of models against eager: output, gradients, and one step of an optimizer."""

import copy

import pytest
import torch
from torch import nn

from dynreg_numpy import get_op_counts, reset_op_counts


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 5)
        )

    @staticmethod
    def example(batch):
        return torch.randn(batch, 12)


class ConvNet(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, stride=2),
            nn.BatchNorm2d(16),
            nn.GELU(),
            nn.AvgPool2d(2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, 5),
        )

    @staticmethod
    def example(batch):
        return torch.randn(batch, 3, 16, 16)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, 5)

    def forward(self, x):
        return self.head(self.lstm(self.words(x))[0][:, -1])

    @staticmethod
    def example(batch):
        return torch.randint(20, (batch, 7))


class Signals(nn.Module):
    """An LSTM on data, which has no gradient: torch emits oneDNN's op for the whole layer."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, bidirectional=True, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        outputs, (hidden, memory) = self.lstm(x)
        return self.head(outputs[:, 2]) + hidden.sum() * memory.mean()

    @staticmethod
    def example(batch):
        return torch.randn(batch, 7, 6)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.encoder(self.words(x)).mean(1))

    @staticmethod
    def example(batch):
        return torch.randint(20, (batch, 7))


MODELS = [Mlp, ConvNet, Lstm, Signals, Transformer]


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    reset_op_counts()
    torch.manual_seed(0)
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


def pair(kind, *, training):
    model = kind().train(training)
    return model, copy.deepcopy(model)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("kind", MODELS)
def test_inference(kind, dynamic):
    model, plain = pair(kind, training=False)
    compiled = torch.compile(model, backend="numpy", dynamic=dynamic, fullgraph=True)
    for batch in (4, 6):
        x = kind.example(batch)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), plain(x))
    assert get_op_counts().fallback == {}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("kind", MODELS)
def test_training_step(kind, dynamic):
    model, plain = pair(kind, training=True)
    compiled = torch.compile(model, backend="numpy", dynamic=dynamic, fullgraph=True)
    x, labels = kind.example(4), torch.randint(5, (4,))
    losses = []
    for run in (compiled, plain):
        loss = nn.functional.cross_entropy(run(x), labels)
        loss.backward()
        losses.append(loss.detach())
    torch.testing.assert_close(*losses)
    for (name, one), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, msg=lambda text, n=name: f"{n}: {text}")
        # Adam divides by the root of a square: from gradients that agree only to rounding, a
        # step of an entry near zero has either sign. The step itself is what is compared.
        one.grad = other.grad.clone()
    for optimizer in (torch.optim.SGD, torch.optim.Adam):
        for net in (model, plain):
            optimizer(net.parameters(), lr=0.01).step()
    for one, other in zip(model.state_dict().values(), plain.state_dict().values(), strict=True):
        torch.testing.assert_close(one, other)
    assert get_op_counts().fallback == {}


@pytest.mark.parametrize("kind", MODELS)
def test_one_compiled_step_of_an_optimizer(kind):
    """Loss, backward and SGD from the compiled model's own gradients."""
    model, plain = pair(kind, training=True)
    compiled = torch.compile(model, backend="numpy", fullgraph=True)
    x, labels = kind.example(4), torch.randint(5, (4,))
    for run, net in ((compiled, model), (plain, plain)):
        step = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        nn.functional.cross_entropy(run(x), labels).backward()
        step.step()
    for one, other in zip(model.state_dict().values(), plain.state_dict().values(), strict=True):
        torch.testing.assert_close(one, other)


def test_the_whole_training_step_in_one_function():
    model, plain = pair(Mlp, training=True)
    x, labels = Mlp.example(4), torch.randint(5, (4,))

    def loss_of(net):
        return nn.functional.cross_entropy(net(x), labels) + nn.functional.mse_loss(
            net(x), x[:, :5]
        )

    compiled = torch.compile(lambda: loss_of(model), backend="numpy", fullgraph=True)
    one, other = compiled(), loss_of(plain)
    torch.testing.assert_close(one, other)
    one.backward()
    other.backward()
    for a, b in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)
    assert get_op_counts().fallback == {}


def test_a_sweep_of_batch_sizes_compiles_at_most_twice():
    model, plain = pair(Mlp, training=False)
    compiled = torch.compile(model, backend="numpy")
    with torch.no_grad():
        for batch in range(2, 10):
            x = Mlp.example(batch)
            torch.testing.assert_close(compiled(x), plain(x))
    assert get_op_counts().graphs <= 2
