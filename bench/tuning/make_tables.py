"""Trains the models behind the benchmark's real problems once, so that a trial costs a lookup: data/*.json.

    python bench/tuning/make_tables.py lightgbm_diabetes torch_digits

Needs scikit-learn, lightgbm and torch; ten minutes of CPU. Data sets are those that scikit-learn contains. svm_digits,
mlp_digits and boosting_cancer were made in the same way, with scikit-learn and NumPy only.
"""

import itertools
import json
import os
import sys
import time

for variable in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'):
    os.environ[variable] = '1'

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data')


def lightgbm_diabetes():
    """Root mean squared error (5 folds) of LightGBM on 442 patients, after each tenth of 120 rounds."""
    import lightgbm

    x, y = load_diabetes(return_X_y=True)
    folds = list(KFold(5, shuffle=True, random_state=0).split(x))
    rates, leaves, minima = np.round(np.logspace(-2.3, -0.1, 8), 5).tolist(), [2, 4, 8, 16, 31], [2, 5, 10, 20, 40]
    fractions, rounds = [0.3, 0.6, 1.0], list(range(10, 121, 10))
    error = np.zeros((len(rates), len(leaves), len(minima), len(fractions), len(rounds)))
    for index in np.ndindex(error.shape[:4]):
        options = {
            'objective': 'regression', 'learning_rate': rates[index[0]], 'num_leaves': leaves[index[1]],
            'min_data_in_leaf': minima[index[2]], 'feature_fraction': fractions[index[3]], 'verbose': -1,
            'num_threads': 1, 'seed': 1,
        }
        for train, valid in folds:
            model = lightgbm.train(options, lightgbm.Dataset(x[train], y[train]), num_boost_round=rounds[-1])
            for at, count in enumerate(rounds):
                off = model.predict(x[valid], num_iteration=count) - y[valid]
                error[(*index, at)] += np.mean(off**2) / len(folds)
    return {
        'rate': rates, 'leaves': leaves, 'minimum': minima, 'fraction': fractions, 'rounds': rounds,
        'error': np.round(np.sqrt(error), 2).tolist(),
    }


def torch_digits():
    """Validation loss of a small network after 6 epochs, for 3 seeds: what a trial reports is one of the three.

    SGD has a momentum, Adam a weight decay: the optimizer decides which parameter exists.
    """
    import torch

    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(2).permutation(len(x))
    x = torch.tensor(StandardScaler().fit_transform(x)[order], dtype=torch.float32)
    y = torch.tensor(y[order])
    rates = {'sgd': np.logspace(-3, 0.3, 7), 'adam': np.logspace(-4, -0.7, 7)}
    extras = {'sgd': [0.0, 0.6, 0.9, 0.97], 'adam': [1e-5, 1e-3, 1e-2, 1e-1]}
    hidden, dropout, seeds, batch = [8, 24, 72], [0.0, 0.25, 0.5], 3, 32

    def train(kind, rate, extra, width, drop, seed):
        torch.manual_seed(seed)
        net = torch.nn.Sequential(
            torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Dropout(drop), torch.nn.Linear(width, 10)
        )
        optimizer = (
            torch.optim.SGD(net.parameters(), lr=rate, momentum=extra)
            if kind == 'sgd' else torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=extra)
        )
        for _ in range(6):
            rows = torch.randperm(800)
            for start in range(0, 800, batch):
                part = rows[start : start + batch]
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(net(x[part]), y[part]).backward()
                optimizer.step()
        net.eval()
        with torch.no_grad():
            loss = float(torch.nn.functional.cross_entropy(net(x[800:1500]), y[800:1500]))
        return min(loss, 5.0) if np.isfinite(loss) else 5.0

    table = {'hidden': hidden, 'dropout': dropout}
    for kind in ('sgd', 'adam'):
        shape = (len(rates[kind]), len(extras[kind]), len(hidden), len(dropout), seeds)
        loss = np.zeros(shape)
        for index in np.ndindex(shape):
            a, b, c, d, seed = index
            loss[index] = train(kind, float(rates[kind][a]), extras[kind][b], hidden[c], dropout[d], seed)
        table[kind] = {'rate': np.round(rates[kind], 6).tolist(), 'extra': extras[kind], 'loss': np.round(loss, 4).tolist()}
    return table


if __name__ == '__main__':
    for make in (lightgbm_diabetes, torch_digits):
        if len(sys.argv) < 2 or make.__name__ in sys.argv[1:]:
            start = time.process_time()
            table = make()
            with open(os.path.join(DATA, f'{make.__name__.replace("_", "-")}.json'), 'w') as file:
                json.dump(table, file, separators=(',', ':'))
            print(make.__name__, f'{time.process_time() - start:.0f} s of CPU', flush=True)
