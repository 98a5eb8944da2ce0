"""Where a training stands, by the lines that it prints: counters of epochs and steps, and progress bars."""

import re
from typing import Any, Dict, NamedTuple, Optional, Tuple

# `Epoch [1/10]`, `epoch 3 of 10`, `Step 100/600`, `iter: 7`, `Epoch(train) [1]`.
COUNTER = re.compile(
    r'(?<![\w\x22\x27-])(?P<name>epochs?|global[_ ]?step|steps?|iter(?:ation)?s?|batch|num_updates|updates?|episode|(?<!.)it)'
    r"""(?:\((?:train|val)\))?['"]?\s{0,3}[:=#]?\s{0,3}['"]?[\[(]{0,2}\s{0,3}(?P<at>\d{1,12})(?![\w.])"""
    r"""(?:['"]|\s{0,3}(?:/|of)\s{0,3}(?P<max>\d{1,12})(?![\w.])|[\])]{1,2}\s?\[\s{0,3}(?P<step>\d{1,12})\s{0,3}/\s{0,3}(?P<steps>\d{1,12})\])?""",
    re.IGNORECASE,
)
# tqdm: `Epoch 3:  52%|█▎| 120/231 [00:10<00:09, …]`.
TQDM = re.compile(r'^(?P<title>[^%|]{0,60}?)\s{0,4}\d{1,3}%\|[^|]{0,300}\|\s{0,4}(?P<at>\d{1,12})/(?P<max>\d{1,12})\s\[')
# Keras: `6/6 ━━━━ 1s`, `6/6 - 1s`, `6/6 [====>.]`; rich: `Epoch 1/9 ━━━━ 8/8 0:00:00`.
KERAS = re.compile(r'^\s{0,8}(?P<at>\d{1,12})/(?P<max>\d{1,12})\s(?:[━╸╺]|-\s\d|\[[=>.])')
RICH = re.compile(r'[━╸╺]\s{0,80}(?P<at>\d{1,12})/(?P<max>\d{1,12})\s')
TRAINING_TITLES = ('', 'epoch', 'train', 'training', 'iter', 'iteration', 'step', 'steps')
# PyTorch's examples: `Train Epoch: 1 [640/60000 (1%)]`.
WITHIN_EPOCH = re.compile(r'\[\s{0,6}(\d{1,12})/\s{0,6}(\d{1,12})\s{0,3}[\](]')
# `| 20/ 99 batches |` beside an epoch.
BATCHES = re.compile(r'(?<![\d/])(\d{1,12})/\s{0,6}(\d{1,12})\s(?:batches|steps|iterations|iters)', re.IGNORECASE)
# DCGAN: `[0/25][50/1583]`; PyTorch's tutorial: `[1,  2000] loss: 2.2`.
EPOCH_AND_STEP = re.compile(
    r'^\s{0,8}\[\s{0,6}(?P<epoch>\d{1,9})(?:/(?P<epochs>\d{1,9})\]\s?\[\s{0,6}|,\s{0,6})(?P<at>\d{1,12})(?:/\s{0,6}(?P<max>\d{1,12}))?\]'
)
# `[3/25] loss=…`, XGBoost and LightGBM: `[3]\ttrain-rmse:0.5`, CatBoost: `3:\tlearn: 0.5`.
ROUND = re.compile(
    r'^\s{0,8}(?:\[\s{0,6}(?P<at>\d{1,9})(?:\s{0,3}/\s{0,6}(?P<max>\d{1,9})\]|\](?=\s))|(?P<tree>\d{1,9}):(?=\s{1,4}learn: ))'
)
# A dictionary or JSON: `{'loss': 0.5, 'epoch': 1.5}`.
QUOTED = re.compile(
    r"""['"](?P<name>step|global_step|epoch)['"]\s{0,2}:\s{0,2}['"]?(?P<at>\d{1,12}(?:\.\d{1,9})?)(?![\w.])"""
)


class Place(NamedTuple):
    """The position that a line states."""

    step: Optional[float]
    """The step of what the line reports."""
    is_counted: bool
    """Whether the line says where the training stands."""
    is_bar: bool


class LogPosition:
    """Reads one line after another. Not thread-safe."""

    def __init__(self) -> None:
        self._epoch: Optional[float] = None
        self._epochs_max: Optional[float] = None
        self._first_epoch = 1.0
        self._bar_max: Optional[float] = None
        self._at, self._at_epoch, self._offset = 0.0, 0.0, 0.0
        self.step: Optional[float] = None
        self.steps_max: Optional[float] = None

    def follow(self, segment: str, has_score: bool) -> 'Place':
        """Finds where the training stands. `has_score`: the line has the name of a loss or a score."""
        counters = _find_counters(segment)
        epoch, step, bar = counters.get('epoch'), counters.get('step'), _find_bar(segment)
        if bar is None and not counters:
            bar = _find_round(segment, self._epoch is not None, has_score)
        quoted = {match['name']: float(match['at']) for match in QUOTED.finditer(segment)}
        if epoch is not None:
            self._set_epoch(*epoch)
        if bar is not None:
            self._set_step(bar, epoch is not None or self._epoch is not None)
        elif step is not None:
            self._set_step(step, epoch is not None and step[1] is not None)
        elif epoch is not None and self._bar_max is None:
            self.step, self.steps_max = self._epoch, self._epochs_max
        elif quoted and self._bar_max is None:
            self.step = quoted.get('step', quoted.get('global_step', quoted.get('epoch')))
        # The line's own step counts, because the bar of another stream is late.
        step_of_line = quoted.get('step', quoted.get('global_step', quoted.get('epoch', self.step)))
        return Place(step_of_line, bool(counters or quoted) or bar is not None, bar is not None)

    def _continue(self, at: float, at_max: Optional[float]) -> float:
        """Returns the step for a position that may begin again with each epoch, of which the length is not known."""
        if at_max is None and self._epoch is not None:
            if at <= self._at and self._epoch != self._at_epoch:
                self._offset += self._at
            self._at, self._at_epoch = at, self._epoch
        return at + (self._offset if at_max is None else 0.0)

    def _set_epoch(self, at: float, at_max: Optional[float]) -> None:
        if self._epoch is None or at == 0:
            # Lightning and many loops count from 0.
            self._first_epoch = min(at, 1.0)
        self._epoch, self._epochs_max = at, at_max if at_max is not None else self._epochs_max

    def _set_step(self, found: Tuple[float, Optional[float]], is_within_epoch: bool) -> None:
        at, at_max = found
        if not is_within_epoch or at_max is None or self._epoch is None:
            if self._bar_max is not None and at_max is not None and at_max != self._bar_max:
                # The bar of an evaluation has another length.
                return
            self._bar_max = at_max if at_max is not None else self._bar_max
            self.step, self.steps_max = self._continue(at, at_max), at_max if at_max is not None else self.steps_max
            return
        self._bar_max = at_max
        self.step = max(0.0, self._epoch - self._first_epoch) * at_max + at
        epochs = None if self._epochs_max is None else self._epochs_max + (0 if self._first_epoch else 1)
        if self._epochs_max is not None and self._first_epoch == 0 and self._epochs_max > self._epoch:
            epochs = max(self._epochs_max, self._epoch + 1)
        self.steps_max = None if epochs is None else epochs * at_max

    def to_json(self) -> Dict[str, Any]:
        epoch = [self._epoch, self._epochs_max, self._first_epoch, self._bar_max]
        within = [self._at, self._at_epoch, self._offset]
        return {'step': self.step, 'stepsMax': self.steps_max, 'epoch': epoch, 'within': within}

    def restore(self, body: Dict[str, Any]) -> None:
        self.step, self.steps_max = body['step'], body['stepsMax']
        self._epoch, self._epochs_max, self._first_epoch, self._bar_max = body['epoch']
        self._at, self._at_epoch, self._offset = body['within']


def _find_counters(segment: str) -> Dict[str, Tuple[float, Optional[float]]]:
    found: Dict[str, Tuple[float, Optional[float]]] = {}
    end = 0
    for match in COUNTER.finditer(segment):
        kind = 'epoch' if match['name'].lower().startswith('epoch') else 'step'
        if kind == 'epoch' and match['name'].lower() == 'epochs' and match['max'] is None:
            # `epochs=10` is a setting.
            continue
        found.setdefault(kind, (float(match['at']), _number_or_none(match['max'])))
        end = end or match.end()
        if match['steps'] is not None:
            found.setdefault('step', (float(match['step']), float(match['steps'])))
        if len(found) == 2:
            break
    if 'step' not in found:
        within = WITHIN_EPOCH.search(segment, end) or BATCHES.search(segment, end) if 'epoch' in found else None
        if within is not None:
            found['step'] = (float(within[1]), float(within[2]))
    both = EPOCH_AND_STEP.match(segment)
    if both is not None:
        found['epoch'] = (float(both['epoch']), _number_or_none(both['epochs']))
        found['step'] = (float(both['at']), _number_or_none(both['max']))
    return found


def _number_or_none(text: Optional[str]) -> Optional[float]:
    return None if text is None else float(text)


def _find_bar(segment: str) -> Optional[Tuple[float, Optional[float]]]:
    tqdm = TQDM.match(segment)
    if tqdm is not None and (re.split(r'[\s:\d]', tqdm['title'].strip().lower()) or [''])[0] not in TRAINING_TITLES:
        # Downloads and evaluations have bars of their own.
        return None
    bar = tqdm or KERAS.match(segment) or (RICH.search(segment) if segment.startswith('Epoch') else None)
    return None if bar is None else (float(bar['at']), float(bar['max']))


def _find_round(segment: str, is_in_epoch: bool, has_score: bool) -> Optional[Tuple[float, Optional[float]]]:
    """
    Finds the position in a line without a name for it. `is_in_epoch`: an earlier line named the epoch; `has_score`: the line
    has a metric.
    """
    match = ROUND.match(segment)
    if match is None:
        within = WITHIN_EPOCH.search(segment) if is_in_epoch else None
        return None if within is None else (float(within[1]), float(within[2]))
    if match['tree'] is not None:
        return float(match['tree']), None
    if not has_score:
        return None
    return float(match['at']), _number_or_none(match['max'])
