"""Models that the benchmarks run, by name and suite.

Each entry builds a model and its example inputs from a seed, with nothing to download. A suite is
a table of names; adding a model is one function with ``@entry``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

__all__ = ["ENTRIES", "Entry", "Workload", "suite"]


@dataclass(frozen=True)
class Workload:
    """A callable with inputs.

    Attributes:
        run: What is measured; called with ``inputs``.
        inputs: Example inputs.
        module: The model inside ``run``.
    """

    run: Callable[..., object]
    inputs: tuple[torch.Tensor, ...]
    module: nn.Module


@dataclass(frozen=True)
class Entry:
    """One row of a suite.

    Attributes:
        name: How it is asked for.
        suite: ``small``, ``medium`` or ``training``.
        build: Makes the model and its inputs; the seed is set by the caller.
    """

    name: str
    suite: str
    build: Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]

    def workload(self, *, seed: int = 0) -> Workload:
        """Build the entry: inference without gradients, or a whole training step."""
        torch.manual_seed(seed)
        module, inputs = self.build()
        if self.suite == "training":
            return Workload(TrainingStep(module), inputs, module)
        return Workload(module.eval(), inputs, module)


class TrainingStep:
    """Forward, loss, backward and one step of SGD.

    Args:
        module: Takes all inputs but the last, which are the class targets of the loss.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module.train()
        self.optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return the loss before the step."""
        *features, target = inputs
        self.optimizer.zero_grad()
        loss = functional.cross_entropy(self.module(*features), target)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


ENTRIES: dict[str, Entry] = {}


def entry(
    suite: str,
) -> Callable[
    [Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]],
    Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]],
]:
    """Add a builder to a suite, under the name of its function."""

    def add(
        build: Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]],
    ) -> Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]:
        name = build.__name__
        if name in ENTRIES:
            raise ValueError(f"two benchmark models are named {name!r}")
        ENTRIES[name] = Entry(name, suite, build)
        return build

    return add


def suite(name: str) -> list[Entry]:
    """Return the entries of a suite, in the order of this file."""
    rows = [row for row in ENTRIES.values() if row.suite == name]
    if not rows:
        raise LookupError(f"no benchmark suite is named {name!r}")
    return rows


# --- parts -------------------------------------------------------------------------------------


def mlp(*sizes: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for wide, narrow in pairwise(sizes):
        layers += [nn.Linear(wide, narrow), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Encoder(nn.Module):
    """Transformer encoder without the fast path that torch takes only outside of compilation."""

    def __init__(self, layers: int, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(EncoderBlock(width, heads, hidden) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


class EncoderBlock(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.attention(x).chunk(3, dim=-1)
        )
        attended = functional.scaled_dot_product_attention(q, k, v)
        x = self.norm1(x + self.projection(attended.transpose(1, 2).reshape(x.shape)))
        return self.norm2(x + self.feed(x))


class DigitsNet(nn.Sequential):
    """The convolutional net of the demo: 8 by 8 grey images in, ten classes out."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(128, 10),
        )


# --- small -------------------------------------------------------------------------------------


@entry("small")
def pointwise_chain() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    class Chain(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            for _ in range(5):
                x = torch.tanh(x * y + 0.5) - y
            return x

    return Chain(), (torch.randn(32, 32), torch.randn(32, 32))


@entry("small")
def mlp_batch_1() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return mlp(256, 256, 256, 256, 10), (torch.randn(1, 256),)


@entry("small")
def mlp_batch_64() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return mlp(256, 256, 256, 256, 10), (torch.randn(64, 256),)


@entry("small")
def lstm_cell_loop() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTMCell(32, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = x.new_zeros(x.shape[1], 64)
            state = x.new_zeros(x.shape[1], 64)
            for step in x:
                hidden, state = self.cell(step, (hidden, state))
            return hidden

    return Loop(), (torch.randn(16, 8, 32),)


@entry("small")
def encoder_2x128() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return Encoder(2, 128, 4, 256), (torch.randn(1, 32, 128),)


@entry("small")
def tabular_resnet() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(width)
            self.inner = mlp(width, 2 * width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.inner(self.norm(x))

    blocks = [Block(64) for _ in range(4)]
    return nn.Sequential(nn.Linear(16, 64), *blocks, nn.Linear(64, 1)), (torch.randn(32, 16),)


@entry("small")
def gnn_layer() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.message = nn.Linear(32, 32)
            self.update = nn.Linear(64, 32)

        def forward(self, x: torch.Tensor, source: torch.Tensor, to: torch.Tensor) -> torch.Tensor:
            gathered = torch.zeros_like(x).index_add(0, to, self.message(x)[source])
            return torch.relu(self.update(torch.cat([x, gathered], dim=1)))

    nodes, edges = 128, 512
    index = torch.randint(nodes, (2, edges))
    return Layer(), (torch.randn(nodes, 32), index[0].clone(), index[1].clone())


@entry("small")
def digits_cnn() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return DigitsNet(), (torch.rand(16, 1, 8, 8),)


# --- medium ------------------------------------------------------------------------------------


@entry("medium")
def bert_base() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(30522, 768)
            self.positions = nn.Parameter(torch.randn(128, 768) * 0.02)
            self.norm = nn.LayerNorm(768)
            self.encoder = Encoder(12, 768, 12, 3072)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.encoder(self.norm(self.words(ids) + self.positions))

    return Bert(), (torch.randint(30522, (1, 128)),)


@entry("medium")
def vit_s16() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    class Vit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patch = nn.Conv2d(3, 384, 16, stride=16)
            self.positions = nn.Parameter(torch.randn(196, 384) * 0.02)
            self.encoder = Encoder(12, 384, 6, 1536)
            self.head = nn.Linear(384, 1000)

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            tokens = self.patch(image).flatten(2).transpose(1, 2) + self.positions
            return self.head(self.encoder(tokens).mean(dim=1))

    return Vit(), (torch.randn(1, 3, 224, 224),)


class BasicBlock(nn.Module):
    def __init__(self, wide: int, out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(wide, out, 3, stride, 1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(),
            nn.Conv2d(out, out, 3, 1, 1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.skip: nn.Module = nn.Identity()
        if stride != 1 or wide != out:
            self.skip = nn.Sequential(
                nn.Conv2d(wide, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.skip(x))


@entry("medium")
def resnet18() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1)]
    widths += [(128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]
    model = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        *(BasicBlock(*row) for row in widths),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(512, 1000),
    )
    return model, (torch.randn(1, 3, 224, 224),)


class InvertedResidual(nn.Module):
    """MobileNetV3's block, with squeeze-and-excitation where ``squeeze`` is set."""

    def __init__(
        self, wide: int, kernel: int, hidden: int, out: int, squeeze: bool, hard: bool, stride: int
    ) -> None:
        super().__init__()
        act = nn.Hardswish if hard else nn.ReLU
        self.expand = nn.Sequential(
            nn.Conv2d(wide, hidden, 1, bias=False), nn.BatchNorm2d(hidden), act()
        )
        self.depthwise = nn.Sequential(
            nn.Conv2d(hidden, hidden, kernel, stride, kernel // 2, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            act(),
        )
        reduced = max(8, (hidden // 4 + 4) // 8 * 8)
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(hidden, reduced, 1),
            nn.ReLU(),
            nn.Conv2d(reduced, hidden, 1),
            nn.Hardsigmoid(),
        )
        self.squeezed = squeeze
        self.project = nn.Sequential(nn.Conv2d(hidden, out, 1, bias=False), nn.BatchNorm2d(out))
        self.residual = stride == 1 and wide == out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.depthwise(self.expand(x))
        if self.squeezed:
            y = y * self.squeeze(y)
        y = self.project(y)
        return x + y if self.residual else y


@entry("medium")
def mobilenet_v3_small() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    # Table 2 of "Searching for MobileNetV3", arXiv:1905.02244: kernel, expansion, output channels,
    # squeeze-and-excitation, hard-swish, stride.
    rows = [
        (3, 16, 16, True, False, 2),
        (3, 72, 24, False, False, 2),
        (3, 88, 24, False, False, 1),
        (5, 96, 40, True, True, 2),
        (5, 240, 40, True, True, 1),
        (5, 240, 40, True, True, 1),
        (5, 120, 48, True, True, 1),
        (5, 144, 48, True, True, 1),
        (5, 288, 96, True, True, 2),
        (5, 576, 96, True, True, 1),
        (5, 576, 96, True, True, 1),
    ]
    blocks, wide = [], 16
    for row in rows:
        blocks.append(InvertedResidual(wide, *row))
        wide = row[2]
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.Hardswish(),
        *blocks,
        nn.Conv2d(96, 576, 1, bias=False),
        nn.BatchNorm2d(576),
        nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(576, 1024),
        nn.Hardswish(),
        nn.Linear(1024, 1000),
    )
    return model, (torch.randn(1, 3, 224, 224),)


@entry("medium")
def gpt2_decode() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """One token of GPT-2 small against a cache of 128 tokens."""
    layers, heads, width, past = 12, 12, 768, 128

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.feed = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
            )

        def forward(
            self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
        ) -> torch.Tensor:
            q, k, v = (
                part.view(1, 1, heads, width // heads).transpose(1, 2)
                for part in self.attention(self.norm1(x)).chunk(3, dim=-1)
            )
            k, v = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
            scores = q @ k.transpose(-1, -2) / math.sqrt(width // heads)
            attended = (scores.softmax(-1) @ v).transpose(1, 2).reshape(1, 1, width)
            x = x + self.projection(attended)
            return x + self.feed(self.norm2(x))

    class Gpt2(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(50257, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm = nn.LayerNorm(width)

        def forward(self, token: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
            x = self.words(token)
            for index, block in enumerate(self.blocks):
                x = block(x, cache[index, 0], cache[index, 1])
            return self.norm(x) @ self.words.weight.T

    cache = torch.randn(layers, 2, 1, heads, past, width // heads)
    return Gpt2(), (torch.randint(50257, (1, 1)), cache)


# --- training ----------------------------------------------------------------------------------


@entry("training")
def train_mlp() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return mlp(64, 128, 128, 10), (torch.randn(64, 64), torch.randint(10, (64,)))


@entry("training")
def train_digits_cnn() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return DigitsNet(), (torch.rand(64, 1, 8, 8), torch.randint(10, (64,)))


@entry("training")
def train_encoder() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.head = Encoder(2, 64, 4, 128), nn.Linear(64, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.encoder(x).mean(dim=1))

    return Classifier(), (torch.randn(8, 32, 64), torch.randint(10, (8,)))
