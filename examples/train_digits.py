"""Train a small convolutional net on real images with the numpy backend, and check it.

    python examples/train_digits.py [--epochs 8] [--backend numpy]

Needs torch, scikit-learn (whose package ships the images), rich, and a wheel that provides the
backend. The training part imports nothing of dynreg: torch finds the backend by its name.
"""

from __future__ import annotations

import argparse

import torch
from rich.console import Console
from rich.progress import Progress
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

console = Console(highlight=False)


def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return 8 by 8 grey images and their digits: 1,437 to train on, 360 held out."""
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(data.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    train, held_out = order[:1437], order[1437:]
    return images[train], labels[train], images[held_out], labels[held_out]


def build() -> nn.Module:
    """Return the net, the same at each call."""
    torch.manual_seed(0)
    return nn.Sequential(
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


def train(
    model: nn.Module, run: nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int
) -> list[float]:
    """Train ``model`` through ``run``, which is the model or its compiled form.

    Returns:
        The loss of each step.
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(1)
    losses = []
    # 1,437 is 22 batches of 64 and a rest, which is left out: one shape, one graph.
    batches = len(labels) // 64
    with Progress(console=console) as progress:
        task = progress.add_task("training", total=epochs * batches)
        for _ in range(epochs):
            order = torch.randperm(len(labels), generator=generator)
            for batch in order[: batches * 64].split(64):
                optimizer.zero_grad()
                loss = functional.cross_entropy(run(images[batch]), labels[batch])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                progress.advance(task)
    return losses


def accuracy(run: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the share of images whose digit is right."""
    with torch.no_grad():
        return (run(images).argmax(1) == labels).float().mean().item()


def main() -> int:
    """Train on the backend and in eager mode, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--backend", default="numpy")
    chosen = parser.parse_args()
    images, labels, held_out, answers = digits()

    console.print(f'\nmodel = torch.compile(model, backend="{chosen.backend}")')
    model = build()
    compiled = torch.compile(model, backend=chosen.backend)
    losses = train(model, compiled, images, labels, chosen.epochs)
    model.eval()
    correct = accuracy(compiled, held_out, answers)

    console.print("\nthe same in eager mode")
    plain = build()
    plain_losses = train(plain, plain, images, labels, chosen.epochs)
    plain.eval()

    curve = max(abs(a - b) for a, b in zip(losses, plain_losses, strict=True))
    weights = max(
        (a - b).abs().max().item()
        for a, b in zip(model.state_dict().values(), plain.state_dict().values(), strict=True)
    )
    console.print(
        f"\nheld-out accuracy      {correct:.1%}  (eager {accuracy(plain, held_out, answers):.1%})"
    )
    console.print(
        f"loss                   {losses[0]:.4f} -> {losses[-1]:.4f} in {len(losses)} steps"
    )
    console.print(f"loss curve from eager  at most {curve:.1e} away")
    console.print(f"weights from eager     at most {weights:.1e} away")
    good = correct > 0.95 and curve < 1e-4
    if chosen.backend == "numpy":
        good &= report_ops()
    console.print("\n[green]all as promised[/]" if good else "\n[red]not as promised[/]")
    return 0 if good else 1


def report_ops() -> bool:
    """Print which ops ran natively; return whether all did."""
    from dynreg_numpy import get_op_counts

    counts = get_op_counts()
    console.print(f"graphs compiled        {counts.graphs}")
    console.print(
        f"ops in NumPy           {sum(counts.native.values())} of {len(counts.native)} kinds:"
    )
    names = sorted(name.removeprefix("aten.") for name in counts.native)
    console.print(f"  {', '.join(names)}")
    console.print(f"ops left to torch      {sum(counts.fallback.values())}")
    return not counts.fallback


if __name__ == "__main__":
    raise SystemExit(main())
