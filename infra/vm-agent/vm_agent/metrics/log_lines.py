"""Metrics and progress in the lines that a program prints: JSON, `name=value` and `name: value`, and progress bars."""

import math
import re
import threading
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

from vm_agent.metrics.log_tables import LogTables
from vm_agent.metrics.metric_names import (
    EVALUATIONS,
    LOG_PREFIX,
    is_loss,
    is_metric,
    is_score,
    is_sure,
    words_of,
)
from vm_agent.metrics.records import Sample

# Of one block of output: its end is looked at, its start is not.
BLOCK_BYTES_MAX = 65_536
# Between two reads, some seconds apart; older output is dropped.
WAITING_BYTES_MAX = 2_097_152
LINE_CHARS_MAX = 2_000
# Of one line.
PAIR_COUNT_MAX = 64

# Terminal sequences: colors and cursor movements, titles, and backspaces.
ESCAPES = re.compile(r'\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\^_])|\x08+')
SEGMENT_END = re.compile(r'[\r\n]+')
NUMBER = r'[-+]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,4})?|[-+]?(?:nan|inf|infinity)(?:\.0)?'
PAIR = re.compile(
    r"""(?<![\w./:@-])['"]?(?P<name>[A-Za-z_][\w./@-]{0,63})['"]?\s{0,2}[=:]\s{0,8}"""
    rf"""(?:(?:np\.)?(?:float\d\d|tensor)\()?['"]?(?P<value>{NUMBER})['"]?%?(?![\w:/=-]|\.\w)""",
    re.IGNORECASE,
)
# `loss 0.5`, without a sign between them.
WORDS = re.compile(rf'(?<![\w./:=-])(?P<name>[A-Za-z][\w/@-]{{0,40}})\s{{1,3}}(?P<value>{NUMBER})%?(?![\w.:/=%-])', re.IGNORECASE)
# After one that is not finite: `loss nan filter` is prose.
AFTER_WORDS = re.compile(r'\s*(?:$|[(,;|]|[A-Za-z][\w@]{0,40} [-+\d])')
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
# `[3/25] loss=…`, XGBoost and LightGBM: `[3]\ttrain-rmse:0.5`, CatBoost: `3:\tlearn: 0.5`.
ROUND = re.compile(
    r'^\s{0,8}(?:\[\s{0,6}(?P<at>\d{1,9})(?:\s{0,3}/\s{0,6}(?P<max>\d{1,9})\]|\](?=\s))|(?P<tree>\d{1,9}):(?=\s{1,4}learn: ))'
)
# What a name is of: `Train Loss: 0.5 | Val. Loss: 0.6`, LightGBM's `valid_1's auc: 0.9`; `best loss` is an earlier value.
QUALIFIER = re.compile(
    r"""(?<![\w./-])(?P<of>best|lowest|min|previous|packet|profit|(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval(?:uation)?|dev)(?:_\d{1,3})?|[\w-]{1,30}(?='s\s))"""
    r"""(?:'s|\.)?\s{1,2}$""",
    re.IGNORECASE,
)
QUALIFIER_CHARS_MAX = 40
NO_QUALIFIERS = ('best', 'lowest', 'min', 'previous', 'packet', 'profit')
# What a part of a line is of: `Test set: Average loss: 0.5`, `[valid] loss=0.5`, `Train | loss 0.5 | Val | loss 0.6`.
PART_OF = re.compile(
    r'(?<![\w./-])(?P<of>train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|eval(?:uation)?|dev)(?:\s(?:set|results?|epoch|error|metrics?|phase|net output #\d{1,2}))?'
    r'\s{0,2}[:|\]>-]',
    re.IGNORECASE,
)
# A loss that is not finite, in a sentence: `Loss is nan, stopping training`, `NaN loss during training`.
SENTENCE = re.compile(
    r'(?P<name>[\w./-]{0,40}loss)\s(?:is|became|has become|went|goes|turned)\s(?:to\s)?(?P<value>[-+]?(?:nan|inf(?:inity)?))(?![\w-])|'
    r'nan loss (?:during training|encountered|detected)|invalid loss, terminating training',
    re.IGNORECASE,
)
# `Cost after iteration 100: 0.5`.
AFTER_STEP = re.compile(
    rf'(?P<name>cost|loss|error|objective)\s(?:after|at|in)\s(?:iteration|epoch|step|iter)\s(?P<at>\d{{1,12}})\s{{0,3}}[:=]\s{{0,8}}(?P<value>{NUMBER})(?![\w%])',
    re.IGNORECASE,
)
# Darknet: `12: 3.4, 3.6 avg loss, 0.001 rate`.
DARKNET = re.compile(rf'^\s*(?P<at>\d{{1,12}}): (?P<value>{NUMBER}), (?:{NUMBER}) avg(?: loss)?, (?:{NUMBER}) rate', re.IGNORECASE)
# The program handles it: the value says nothing about the model.
HANDLED = re.compile(r'\b(?:skip|ignor|discard)(?!\w*(?:\s\w+)?\s*[:=])', re.IGNORECASE)
HINTS = ('nan', 'inf', 'invalid loss')
DIGIT = re.compile(r'\d')
NOT_FINITE = re.compile(r'(?<![a-z])(?:nan|inf)', re.IGNORECASE)
# A dictionary or JSON: `{'loss': 0.5, 'epoch': 1.5}`.
QUOTED = re.compile(
    r"""['"](?P<name>step|global_step|epoch)['"]\s{0,2}:\s{0,2}['"]?(?P<at>\d{1,12}(?:\.\d{1,9})?)(?![\w.])"""
)


class LogLines:
    """A source of metrics; see vm_agent/metrics/source.py. `add` may be called by another thread."""

    def __init__(self, takes_all: bool = True) -> None:
        """
        Without `takes_all`, only what is surely a metric is one, under a name that begins with LOG_PREFIX.
        """
        self._takes_all = takes_all
        self._tables = LogTables()
        self._blocks: Deque[Tuple[bytes, Optional[float]]] = deque()
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        self._epoch: Optional[float] = None
        self._epochs_max: Optional[float] = None
        self._first_epoch = 1.0
        self._bar_max: Optional[float] = None
        self._last: Dict[str, Tuple[Optional[float], float]] = {}
        self.step: Optional[float] = None
        self.steps_max: Optional[float] = None
        self.is_behind = False

    def add(self, block: bytes, wall_time: Optional[float] = None) -> None:
        """Keeps the end of a block of output, which was printed at this time; nothing is parsed."""
        block = block[-BLOCK_BYTES_MAX:]
        with self._lock:
            self._blocks.append((block, wall_time))
            self._waiting_bytes += len(block)
            while self._waiting_bytes > WAITING_BYTES_MAX:
                self._waiting_bytes -= len(self._blocks.popleft()[0])

    def read(self, is_last: bool) -> List[Sample]:
        with self._lock:
            blocks, self._blocks, self._waiting_bytes = list(self._blocks), deque(), 0
        return [
            sample._replace(wall_time=wall_time)
            for block, wall_time in blocks
            for sample in self._read_block(block.decode('utf-8', 'replace'))
        ]

    def _read_block(self, text: str) -> List[Sample]:
        samples: List[Sample] = []
        for line in text.split('\n'):
            # A progress bar is drawn again and again in one line: its last state counts, and whatever is not a bar.
            segments = [segment for segment in SEGMENT_END.split(_plain(line)) if segment.strip()]
            for index, segment in enumerate(segments):
                if index == len(segments) - 1 or (len(segments) <= 8 and segment.lstrip()[:1] == '{'):
                    samples += self._read_segment(segment)
        return samples

    def _read_segment(self, segment: str) -> List[Sample]:
        lowered = segment.lower()
        is_finite = not any(hint in lowered for hint in HINTS)
        if len(segment) > LINE_CHARS_MAX or (not is_finite and HANDLED.search(segment) and NOT_FINITE.search(segment)):
            return []
        row = self._tables.read(segment)
        if row is None:
            if is_finite and not DIGIT.search(segment):
                return []
            is_counted = self._follow(segment)
            texts = self._find_texts(segment, is_counted)
        else:
            texts, step = row
            self.step = self.step if step is None else step
        samples = []
        for name, text in texts.items():
            value = _to_number(text)
            if value is None:
                continue
            name = name if self._takes_all else LOG_PREFIX + name
            # A bar shows its last state again; without a step, an equal value is another report.
            if self.step is None or self._last.get(name) != (self.step, value):
                self._last[name] = (self.step, value)
                samples.append(Sample(name, value, self.step))
        if len(self._last) > 2_000:
            self._last.clear()
        return samples

    def _find_texts(self, segment: str, is_counted: bool) -> Dict[str, str]:
        """Returns the metrics of a line, if it is one of a training: it says where that stands, or has a loss or a score."""
        pairs: Dict[str, str] = {}
        parts = [(found.end(), found['of'].lower()) for found in PART_OF.finditer(segment)]
        for pattern in (PAIR, WORDS):
            for count, match in enumerate(pattern.finditer(segment)):
                is_read = count < PAIR_COUNT_MAX and (pattern is PAIR or self._is_words(segment, match, is_counted))
                name = _qualified(segment, match, parts) if is_read else None
                if name is not None:
                    pairs.setdefault(name, match['value'])
        sentence = AFTER_STEP.search(segment) or (None if pairs else DARKNET.match(segment) or SENTENCE.search(segment))
        if sentence is not None:
            found = sentence.groupdict()
            self.step = float(found['at']) if 'at' in found else self.step
            return {(found.get('name') or 'loss').strip('.-/'): found['value'] or 'nan'}
        if pairs.get('grad_norm', '').lower() == 'nan' and pairs.get('loss', '').strip('0.') == '':
            # Transformers shows a loss that is NaN as 0.
            pairs['loss'] = 'nan'
        if not is_counted and not any(is_score(name) for name in pairs):
            return {}
        if not is_counted and segment.lstrip()[:1] not in '{[' and '(' in segment and 'batch_size' in segment:
            # The settings of a program.
            return {}
        takes_any = is_counted and self._takes_all
        return {name: text for name, text in pairs.items() if is_metric(name, text, takes_any)}

    def _is_words(self, segment: str, match: 're.Match[str]', is_counted: bool) -> bool:
        """Whether a name and a value without a sign between them are no prose, as they are before a training begins."""
        has_begun = is_counted or self._takes_all or self.step is not None
        is_finite = match['value'][-1:].isdigit() or match['value'][-1:] == '.'
        is_name = is_sure(match['name']) or is_loss(match['name'])
        return has_begun and is_name and (is_finite or bool(AFTER_WORDS.match(segment, match.end())))

    def _follow(self, segment: str) -> bool:
        """Finds where the training stands. Returns whether the line says so."""
        counters = _find_counters(segment)
        epoch, step, bar = counters.get('epoch'), counters.get('step'), _find_bar(segment)
        if bar is None and not counters:
            bar = _find_round(segment, self._epoch is not None)
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
        return bool(counters or quoted) or bar is not None

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
            self.step, self.steps_max = at, at_max if at_max is not None else self.steps_max
            return
        self._bar_max = at_max
        self.step = max(0.0, self._epoch - self._first_epoch) * at_max + at
        epochs = None if self._epochs_max is None else self._epochs_max + (0 if self._first_epoch else 1)
        if self._epochs_max is not None and self._first_epoch == 0 and self._epochs_max > self._epoch:
            epochs = max(self._epochs_max, self._epoch + 1)
        self.steps_max = None if epochs is None else epochs * at_max

    def to_json(self) -> Dict[str, Any]:
        return {'step': self.step, 'stepsMax': self.steps_max, 'epoch': [self._epoch, self._epochs_max]}

    def restore(self, body: Dict[str, Any]) -> None:
        self.step, self.steps_max = body['step'], body['stepsMax']
        self._epoch, self._epochs_max = body['epoch']


def _plain(line: str) -> str:
    """Returns the line as a terminal without colors shows it, without its start if it is very long."""
    return ESCAPES.sub('', line[-8 * LINE_CHARS_MAX :])


def _find_counters(segment: str) -> Dict[str, Tuple[float, Optional[float]]]:
    found: Dict[str, Tuple[float, Optional[float]]] = {}
    for match in COUNTER.finditer(segment):
        kind = 'epoch' if match['name'].lower().startswith('epoch') else 'step'
        if kind == 'epoch' and match['name'].lower() == 'epochs' and match['max'] is None:
            # `epochs=10` is a setting.
            continue
        at_max = None if match['max'] is None else float(match['max'])
        found.setdefault(kind, (float(match['at']), at_max))
        if match['steps'] is not None:
            found.setdefault('step', (float(match['step']), float(match['steps'])))
        if len(found) == 2:
            break
    within = WITHIN_EPOCH.search(segment) if 'epoch' in found and 'step' not in found else None
    if within is not None:
        found['step'] = (float(within[1]), float(within[2]))
    return found


def _find_bar(segment: str) -> Optional[Tuple[float, Optional[float]]]:
    tqdm = TQDM.match(segment)
    if tqdm is not None and (re.split(r'[\s:\d]', tqdm['title'].strip().lower()) or [''])[0] not in TRAINING_TITLES:
        # Downloads and evaluations have bars of their own.
        return None
    bar = tqdm or KERAS.match(segment) or (RICH.search(segment) if segment.startswith('Epoch') else None)
    return None if bar is None else (float(bar['at']), float(bar['max']))


def _find_round(segment: str, is_in_epoch: bool) -> Optional[Tuple[float, Optional[float]]]:
    """Finds the position in a line without a name for it. `is_in_epoch`: an earlier line named the epoch."""
    match = ROUND.match(segment)
    if match is None:
        within = WITHIN_EPOCH.search(segment) if is_in_epoch else None
        return None if within is None else (float(within[1]), float(within[2]))
    if match['tree'] is not None:
        return float(match['tree']), None
    if not any(is_score(pair['name']) for pair in PAIR.finditer(segment)):
        return None
    return float(match['at']), None if match['max'] is None else float(match['max'])


def _qualified(segment: str, match: 're.Match[str]', parts: List[Tuple[int, str]]) -> Optional[str]:
    """
    Returns the name of a metric with what it is of, `val/Loss`; None for the best of earlier values. `parts` are the ends
    of words that say what follows them is of.
    """
    name = match['name']
    qualifier = QUALIFIER.search(segment[max(0, match.start() - QUALIFIER_CHARS_MAX) : match.start()])
    if qualifier is not None:
        of = qualifier['of'].lower()
        return None if of in NO_QUALIFIERS else f'{of}/{name}'
    part = next((of for end, of in reversed(parts) if end <= match.start()), '')
    return f'{part}/{name}' if part in EVALUATIONS and not words_of(name) & EVALUATIONS else name


def _to_number(text: str) -> Optional[float]:
    try:
        value = float(text[:-2] if text.lower().endswith(('nan.0', 'inf.0')) else text)
    except ValueError:
        return None
    return value if not math.isinf(value) or 'inf' in text.lower() else None
