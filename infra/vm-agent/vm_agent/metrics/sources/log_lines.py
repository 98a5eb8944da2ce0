"""Metrics and progress in the lines that a program prints: JSON, `name=value` and `name: value`, and progress bars."""

import math
import re
import threading
import time
from collections import Counter, deque
from typing import Any, Deque, Dict, List, Mapping, Optional, Sequence, Tuple

from vm_agent.metrics.samples.metric_names import (
    EVALUATIONS,
    LOG_PREFIX,
    is_loss,
    is_metric,
    is_score,
    is_sure,
    words_of,
)
from vm_agent.metrics.samples.records import Sample
from vm_agent.metrics.sources.log_position import LogPosition, Place
from vm_agent.metrics.sources.log_tables import LogTables
from vm_agent.metrics.sources.source import MetricSource

# The part of one block of output that is read: its end is looked at, its start is not.
BLOCK_BYTES_MAX = 65_536
# Between two reads, some seconds apart; older output is dropped.
WAITING_BYTES_MAX = 2_097_152
LINE_CHARS_MAX = 2_000
READ_SECONDS_MAX = 2.0
# The number of pairs in one line.
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
# The word before a name says what it measures: `Train Loss: 0.5 | Val. Loss: 0.6`, LightGBM's `valid_1's auc: 0.9`; `best loss` is an earlier value.
QUALIFIER = re.compile(
    r"""(?:(?<![\w./-])(?P<best>best)\s)?(?<![\w./-])(?P<of>best|lowest|min|previous|packet|profit|(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval(?:uation)?|dev)(?:_\d{1,3})?|[\w-]{1,30}(?='s\s))"""
    r"""(?:'s|\.)?\s{1,2}$""",
    re.IGNORECASE,
)
QUALIFIER_CHARS_MAX = 40
NO_QUALIFIERS = ('best', 'lowest', 'min', 'previous', 'packet', 'profit')
# A word before several names says what they measure: `Test set: Average loss: 0.5`, `[valid] loss=0.5`, `Train | loss 0.5 | Val | loss 0.6`.
PART_OF = re.compile(
    r'(?<![\w./-])(?P<of>train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|eval(?:uation)?|dev)(?:\s(?:set|results?|epoch|error|metrics?|phase|net output #\d{1,2})){0,2}'
    r'(?:\s{0,2}[:|\]>-]|\s{1,2}(?=[A-Za-z][\w.]{0,30}\s?[:=]))',
    re.IGNORECASE,
)
# A heading says what the next line measures.
HEADING = re.compile(r'^\W{0,8}(?P<of>val(?:id(?:ation)?)?|test|eval(?:uation)?|dev)(?:\s(?:set|results?|error|metrics?))?\s?:?\s{0,8}$', re.IGNORECASE)
# PyTorch's ImageNet example prints ` *   Acc@1 76.1` after an evaluation.
IMAGENET_RESULT = re.compile(r'^\s{0,8}\*\s{1,8}Acc@')
LAST_WORD = re.compile(r'(?<![\w./-])([A-Za-z]\w{0,20})\s$')
# `Accuracy: 9833/10000 (98%)`.
FRACTION = re.compile(r'(?<![\w./-])(?P<name>acc(?:uracy)?)\s?[:=]\s?(?P<value>\d{1,12})/(?P<of>\d{1,12})\b', re.IGNORECASE)
# Such a line repeats earlier values: those of a checkpoint that is loaded, or the best until now.
EARLIER = re.compile(r'\b(?:load(?:ed|ing)|restor(?:ed|ing)|resum(?:ed|ing))\b|^\W{0,8}best\b', re.IGNORECASE)
SETTINGS = frozenset(
    'seed hidden layers dropout batch epochs workers warmup decay optimizer device dim target max min weights weight size '
    'lr learning'.split()
)
# `Namespace(lr=0.1, …)`.
CALL = re.compile(r'^\W{0,8}[A-Za-z_][\w.]{0,40}\((?=.*=)')
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


class LogLines(MetricSource):
    """`add` may be called by another thread."""

    def __init__(self, takes_all: bool = True) -> None:
        """
        Without `takes_all`, only what is surely a metric is one, under a name that begins with LOG_PREFIX.
        """
        self._takes_all = takes_all
        self._tables = LogTables()
        self._blocks: Deque[Tuple[bytes, Optional[float]]] = deque()
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        self._position = LogPosition()
        self._last: Dict[str, Tuple[Optional[float], float]] = {}
        # The heading in the previous line, such as `Test Error:`.
        self._heading = ''

    def to_json(self) -> Dict[str, Any]:
        return self._position.to_json()

    def restore(self, body: Dict[str, Any]) -> None:
        self._position.restore(body)
        self.step, self.steps_max = self._position.step, self._position.steps_max

    def add(self, block: bytes, wall_time: Optional[float] = None) -> None:
        """Keeps the end of a block of output, which was printed at this time; nothing is parsed."""
        block = block[-BLOCK_BYTES_MAX:]
        with self._lock:
            self._blocks.append((block, wall_time))
            self._waiting_bytes += len(block)
            while self._waiting_bytes > WAITING_BYTES_MAX:
                self._waiting_bytes -= len(self._blocks.popleft()[0])

    def read(self, is_last: bool = False) -> List[Sample]:
        """Output that is not read within READ_SECONDS_MAX waits: a line may be one for which the patterns need long."""
        samples: List[Sample] = []
        give_up_at = time.monotonic() + READ_SECONDS_MAX
        while time.monotonic() < give_up_at:
            with self._lock:
                if not self._blocks:
                    break
                block, wall_time = self._blocks.popleft()
                self._waiting_bytes -= len(block)
            found = self._read_block(block.decode('utf-8', 'replace'))
            samples += [sample._replace(wall_time=wall_time) for sample in found]
        self.is_behind = bool(self._blocks)
        return samples

    def _read_block(self, text: str) -> List[Sample]:
        samples: List[Sample] = []
        previous: List[Sample] = []
        for line in text.split('\n'):
            # A progress bar is drawn again and again in one line: its last state counts, and whatever is not a bar.
            segments = [segment for segment in SEGMENT_END.split(_plain(line)) if segment.strip()]
            for index, segment in enumerate(segments):
                if index == len(segments) - 1 or (len(segments) <= 8 and segment.lstrip()[:1] == '{'):
                    if _is_handled(segment):
                        previous = [sample for sample in previous if math.isfinite(sample.value)]
                        continue
                    samples += previous
                    previous = self._read_segment(segment)
        self.step, self.steps_max = self._position.step, self._position.steps_max
        return samples + previous

    def _read_segment(self, segment: str) -> List[Sample]:
        if len(segment) > LINE_CHARS_MAX or EARLIER.search(segment):
            return []
        row = self._tables.read(segment)
        if row is None:
            texts, place = self._find_texts(segment)
        else:
            texts, step = row
            self._position.step = self._position.step if step is None else step
            place = Place(self._position.step, True, False)
        heading = HEADING.match(segment)
        self._heading = heading['of'].lower() if heading is not None else ''
        samples = []
        for name, text in texts.items():
            value = _to_number(text)
            if value is None or not (self._takes_all or math.isfinite(value) or is_loss(name)):
                continue
            name = name if self._takes_all else LOG_PREFIX + name
            last = self._last.get(name)
            # A bar shows its last state again; without a step, an equal value is another report.
            is_repeated = last is not None and last[1] == value and (place.is_bar or last[0] == place.step is not None)
            if not is_repeated:
                self._last[name] = (place.step, value)
                samples.append(Sample(name, value, place.step))
        if len(self._last) > 2_000:
            self._last.clear()
        return samples

    def _find_texts(self, segment: str) -> Tuple[Dict[str, str], Place]:
        """
        Returns the metrics of a line, if it is one of a training: it says where that stands, or has a loss or a score.
        """
        lowered = segment.lower()
        if not DIGIT.search(segment) and not any(hint in lowered for hint in HINTS):
            return {}, Place(None, False, False)
        matches = [match for count, match in enumerate(PAIR.finditer(segment)) if count < PAIR_COUNT_MAX]
        pairs = _name_pairs(segment, matches, self._heading)
        place = self._position.follow(segment, has_score=any(is_score(name) for name in pairs))
        sentence = AFTER_STEP.search(segment) or (None if pairs else DARKNET.match(segment) or SENTENCE.search(segment))
        if sentence is not None:
            found = sentence.groupdict()
            self._position.step = float(found['at']) if found.get('at') else self._position.step
            texts = {(found.get('name') or 'loss').strip('.-/'): found['value'] or 'nan'}
            return texts, place._replace(step=self._position.step)
        words = [match for count, match in enumerate(WORDS.finditer(segment)) if count < PAIR_COUNT_MAX]
        words = [match for match in words if self._is_words(segment, match, place.is_counted)]
        pairs = {**(_name_pairs(segment, words, self._heading) if words else {}), **pairs}
        fraction = FRACTION.search(segment)
        if fraction is not None and float(fraction['of']) > 0:
            share = str(float(fraction['value']) / float(fraction['of']))
            pairs.update(_name_pairs(segment, [fraction], self._heading, share))
        if pairs.get('grad_norm', '').lower() == 'nan' and pairs.get('loss', '').strip('0.') == '':
            # Transformers shows a loss that is NaN as 0.
            pairs['loss'] = 'nan'
        if not place.is_counted and (_are_settings(segment, pairs) or not any(is_score(name) for name in pairs)):
            return {}, place
        takes_any = place.is_counted and self._takes_all
        return {name: text for name, text in pairs.items() if is_metric(name, text, takes_any)}, place

    def _is_words(self, segment: str, match: 're.Match[str]', is_counted: bool) -> bool:
        """Whether a name and a value without a sign between them are no prose, as they are before a training begins."""
        has_begun = is_counted or self._takes_all or self._position.step is not None
        is_finite = match['value'][-1:].isdigit() or match['value'][-1:] == '.'
        is_name = is_sure(match['name']) or is_loss(match['name'])
        return has_begun and is_name and (is_finite or bool(AFTER_WORDS.match(segment, match.end())))


def _plain(line: str) -> str:
    """Returns the line as a terminal without colors shows it, without its start if it is very long."""
    return ESCAPES.sub('', line[-8 * LINE_CHARS_MAX :])


def _name_pairs(
    segment: str, matches: Sequence['re.Match[str]'], heading: str, value: Optional[str] = None
) -> Dict[str, str]:
    """Returns the values by the names of the metrics, with what they measure."""
    parts = [(found.end(), found['of'].lower()) for found in PART_OF.finditer(segment)]
    parts = [(0, heading), *([(0, 'val')] if IMAGENET_RESULT.match(segment) else []), *parts]
    counts = Counter(match['name'].lower() for match in matches)
    pairs: Dict[str, str] = {}
    for match in matches:
        name = _qualified(segment, match, parts, is_repeated=counts[match['name'].lower()] > 1)
        if name is not None:
            pairs.setdefault(name, match['value'] if value is None else value)
    return pairs


def _qualified(
    segment: str, match: 're.Match[str]', parts: List[Tuple[int, str]], is_repeated: bool
) -> Optional[str]:
    """
    Returns the name of a metric with what it measures, `val/Loss`; None for the best of earlier values. `parts` are such
    words and where they end. `is_repeated`: the line has the name twice, and a word tells them apart.
    """
    name = match['name']
    before = segment[max(0, match.start() - QUALIFIER_CHARS_MAX) : match.start()]
    qualifier = QUALIFIER.search(before)
    if qualifier is not None:
        of = qualifier['of'].lower()
        return None if qualifier['best'] or of in NO_QUALIFIERS else f'{of}/{name}'
    word = LAST_WORD.search(before) if is_repeated else None
    if word is not None:
        return f'{word[1]}/{name}'
    part = next((of for end, of in reversed(parts) if end <= match.start()), '')
    return f'{part}/{name}' if part in EVALUATIONS and not words_of(name) & EVALUATIONS else name


def _is_handled(segment: str) -> bool:
    """Whether a line says that the program leaves out what is not finite: in this line, or in the one before."""
    return HANDLED.search(segment) is not None and NOT_FINITE.search(segment) is not None


def _are_settings(segment: str, pairs: Mapping[str, str]) -> bool:
    """Whether a line that does not say where the training stands has the settings of a program."""
    return sum(bool(words_of(name) & SETTINGS) for name in pairs) > 1 or CALL.match(segment) is not None


def _to_number(text: str) -> Optional[float]:
    try:
        value = float(text[:-2] if text.lower().endswith(('nan.0', 'inf.0')) else text)
    except ValueError:
        return None
    return value if not math.isinf(value) or 'inf' in text.lower() else None
