"""Optuna's samplers for the tuning benchmark: one JSON object per line on stdin, one answer per line on stdout.

    {"op": "start", "sampler": "tpe" | "gpsampler", "seed": 1, "parallel": 5, "parameters": [...]}   -> {}
    {"op": "ask"}                                                    -> {"trial": 0, "values": {...}, "ms": 1.5}
    {"op": "tell", "trial": 0, "objective": 1.5 or null}             -> {}

Samplers see lists of numbers as integers, and a reverse-log scale as its unit interval: nothing is withheld. Parameters
of the same name under different parents are different parameters.
"""

import json
import math
import os
import sys
import time
import warnings

for variable in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[variable] = '1'

import optuna  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings('ignore')


def create_sampler(name, seed, parallel):
    if name == 'tpe':
        return optuna.samplers.TPESampler(seed=seed, constant_liar=parallel > 1)
    if name == 'tpe-multivariate':
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=parallel > 1)
    return optuna.samplers.GPSampler(seed=seed)


def choose(trial, parameter, path):
    space, scale = parameter['space'], parameter['scale']
    name = f'{path}{parameter["id"]}'
    if space['kind'] == 'CATEGORICAL':
        return trial.suggest_categorical(name, space['values'])
    if space['kind'] == 'DISCRETE':
        return space['values'][trial.suggest_int(name, 0, len(space['values']) - 1)]
    low, high = space['min'], space['max']
    if scale == 'REVERSE_LOG':
        unit = trial.suggest_float(name, 0, 1)
        return low + high - math.exp(math.log(high) + unit * (math.log(low) - math.log(high)))
    if space['kind'] == 'INTEGER':
        return trial.suggest_int(name, low, high, log=scale == 'LOG')
    return trial.suggest_float(name, low, high, log=scale == 'LOG')


def choose_all(trial, parameters, path=''):
    values = {}
    for parameter in parameters:
        value = values[parameter['id']] = choose(trial, parameter, path)
        for child in parameter['children']:
            if value in child['parentValues']:
                values.update(choose_all(trial, [child['parameter']], f'{path}{parameter["id"]}={value}/'))
    return values


def main():
    study, parameters, trials = None, [], []
    for line in sys.stdin:
        request, answer = json.loads(line), {}
        if request['op'] == 'start':
            sampler = create_sampler(request['sampler'], request['seed'], request['parallel'])
            study, parameters, trials = optuna.create_study(sampler=sampler), request['parameters'], []
        elif request['op'] == 'ask':
            start = time.process_time()
            trials.append(study.ask())
            values = choose_all(trials[-1], parameters)
            answer = {'trial': len(trials) - 1, 'values': values, 'ms': (time.process_time() - start) * 1000}
        elif request['objective'] is None:
            study.tell(trials[request['trial']], state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trials[request['trial']], request['objective'])
        print(json.dumps(answer), flush=True)


main()
