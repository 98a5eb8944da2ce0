"""Trains a small network to tell points inside a circle from those outside, on a GPU if there is one.

Replace `make_points` and `make_model` by your own data and model. What the rest does is what a job needs: it saves a
checkpoint after every epoch, resumes from it when it is started again, and reports metrics.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any, Optional

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main(argv: Optional[list[str]] = None) -> None:
    flags = parse_flags(argv)
    flags.output.mkdir(parents=True, exist_ok=True)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    print(f'Training on {device}.', flush=True)
    torch.manual_seed(flags.seed)
    model = make_model().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=flags.learning_rate)
    checkpoint = flags.output / 'checkpoint.pt'
    first_epoch = 1
    if checkpoint.exists():
        state = torch.load(checkpoint, map_location=device, weights_only=True)
        model.load_state_dict(state['model'])
        optimizer.load_state_dict(state['optimizer'])
        first_epoch = state['epoch'] + 1
        print(f'Resuming after epoch {state["epoch"]}.', flush=True)
    train_points, test_points = make_points(flags.seed), make_points(flags.seed + 1)
    for epoch in range(first_epoch, flags.epochs + 1):
        # The order depends on the epoch alone, so that a resumed training continues like an uninterrupted one.
        torch.manual_seed(flags.seed * 1_000_003 + epoch)
        batches = DataLoader(train_points, batch_size=flags.batch_size, shuffle=True)
        loss = train_epoch(model, optimizer, batches, device)
        accuracy = measure_accuracy(model, test_points, device)
        report({'step': epoch, 'steps': flags.epochs, 'loss': loss, 'accuracy': accuracy})
        state = {'epoch': epoch, 'model': model.state_dict(), 'optimizer': optimizer.state_dict()}
        save(checkpoint, state)
    save(flags.output / 'model.pt', model.state_dict())
    print(f'Saved {flags.output / "model.pt"}.', flush=True)


def make_model() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1), nn.Flatten(0))


def make_points(seed: int, count: int = 1_000) -> TensorDataset:
    points = 4 * torch.rand((count, 2), generator=torch.Generator().manual_seed(seed)) - 2
    return TensorDataset(points, (points.square().sum(1) < 2).float())


def train_epoch(model: nn.Module, optimizer: torch.optim.Optimizer, batches: Any, device: torch.device) -> float:
    """Returns the mean of the losses before each step."""
    model.train()
    losses: list[float] = []
    for points, labels in batches:
        loss = nn.functional.binary_cross_entropy_with_logits(model(points.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def measure_accuracy(model: nn.Module, dataset: TensorDataset, device: torch.device) -> float:
    model.eval()
    points, labels = dataset.tensors
    return ((model(points.to(device)) > 0) == labels.to(device).bool()).float().mean().item()


def report(metrics: dict[str, float]) -> None:
    """Prints the metrics, and appends them to DROPFORGE_METRICS_FILE, from which the page and the CLI have them."""
    print(f'epoch {metrics["step"]}  loss {metrics["loss"]:.4f}  accuracy {metrics["accuracy"]:.3f}', flush=True)
    path = os.environ.get('DROPFORGE_METRICS_FILE')
    if path:
        with open(path, 'a', encoding='utf-8') as file:
            file.write(json.dumps(metrics) + '\n')


def save(path: Path, state: object) -> None:
    """Writes the whole file or none, whenever the program is stopped."""
    temporary = path.with_suffix('.tmp')
    torch.save(state, temporary)
    os.replace(temporary, path)


def parse_flags(argv: Optional[list[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument('--epochs', type=int, default=20, help='passes over the training data')
    parser.add_argument('--batch-size', type=int, default=32, help='points per step')
    parser.add_argument('--learning-rate', type=float, default=0.01, help='step size of the optimizer')
    parser.add_argument('--seed', type=int, default=0, help='seed of data, weights and order')
    output = Path(os.environ.get('DROPFORGE_OUTPUT_DIR', 'output'))
    parser.add_argument('--output', type=Path, default=output, help='folder of model and checkpoint')
    return parser.parse_args(argv)


if __name__ == '__main__':
    main()
