"""DistributedDataParallel over two processes trains to the weights of eager mode."""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing import spawn
from torch.nn.parallel import DistributedDataParallel

RANKS = 2


def train(rank, folder, backend):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting_{backend}", rank=rank, world_size=RANKS
    )
    try:
        torch.manual_seed(0)
        layers = nn.Linear(6, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Linear(16, 3)
        model = DistributedDataParallel(nn.Sequential(*layers))
        run = torch.compile(model, backend=backend) if backend else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        generator = torch.Generator().manual_seed(rank)
        for _ in range(5):
            x = torch.randn(8, 6, generator=generator)
            optimizer.zero_grad()
            run(x).square().mean().backward()
            optimizer.step()
        torch.save(model.state_dict(), f"{folder}/{backend}_{rank}.pt")
    finally:
        dist.destroy_process_group()


@pytest.mark.skipif(not dist.is_gloo_available(), reason="torch was built without gloo")
def test_two_ranks_train_to_the_weights_of_eager(tmp_path):
    for backend in ("", "numpy"):
        spawn(train, args=(str(tmp_path), backend), nprocs=RANKS)
    for rank in range(RANKS):
        eager, compiled = (torch.load(tmp_path / f"{b}_{rank}.pt") for b in ("", "numpy"))
        torch.testing.assert_close(compiled, eager)
