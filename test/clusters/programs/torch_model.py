"""The model of the programs for PyTorch, and its data, which follow from the step and the rank."""

from typing import Any, Iterable

import torch


def create_model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8))


def loss_of(model: Any, step: int, rank: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1_000 * step + rank)
    x = torch.randn(16, 32, generator=generator)
    return ((model(x) - x[:, :8].sin()) ** 2).mean()


def take_step(model: Any, optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def bytes_of(tensors: Iterable[Any]) -> Iterable[bytes]:
    return [tensor.detach().numpy().tobytes() for tensor in tensors]
