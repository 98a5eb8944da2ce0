"""DIVERGING and PLATEAU: the course of the losses that the program reports."""

import math
from collections import deque
from dataclasses import replace
from typing import Deque, Dict, List, Optional

from vm_agent.health.finding import Finding, describe_seconds
from vm_agent.metrics.samples.metric_names import is_loss, is_steady_loss, words_of

NAMES_MAX = 32
# Beside these, a loss has targets or weights that grow.
GROWING = frozenset(('reward', 'rewards', 'rew', 'return', 'returns', 'episode', 'episodes', 'kl'))
# The median of this many reports is compared, so that single outliers do not count.
WINDOW = 5
REPORTS_MIN = 10
# In a row above the limit.
DIVERGING_REPORTS_MIN = 10
# The limit is this many times what the loss has dropped, above its best; and this many times its best and its noise.
DROP_FACTOR = 1.5
BEST_FACTOR = 4.0
NOISE_FACTOR = 10.0
NOISE_WEIGHT = 0.05
NOISE_CHANGE_MAX = 4.0
# A loss that falls again below this part of its recent level recovers.
FALLING_FACTOR = 0.65
# Far above, fewer suffice.
FAR_FACTOR = 30.0
FAR_REPORTS_MIN = 4
# All recent reports are above this many times the start, however few there were: its highest report, or its lowest.
EXPLODED_FACTOR = 5.0
FAR_EXPLODED_FACTOR = 1_000.0
# Beyond it, squares overflow in single precision.
LEVEL_MAX = 1e20
# A loss that has never improved has diverged if it stays above this many times its start.
START_REPORTS = 3
NEVER_IMPROVED_FACTOR = 0.9
START_FACTOR = 1.5
START_NOISE_FACTOR = 3.0
# A model that knows nothing any more: after half of its start was gained, the loss is back there, and does not move.
COLLAPSE_GAIN_MIN = 0.5
COLLAPSE_LEVEL_MIN = 0.9
COLLAPSE_SPREAD_MAX = 0.1
# A plateau is looked for this often.
CHECK_REPORTS = 16
PLATEAU_REPORTS_MIN = 40
PLATEAU_SECONDS_MIN = 1_800.0
PLATEAU_FRACTION = 0.6
# The share of the drop since the start: less is not an improvement.
IMPROVEMENT_FRACTION = 0.005


class _Curve:
    def __init__(self, is_steady: bool, at: float) -> None:
        self.is_steady = is_steady
        self.started_at = at
        self.recent: Deque[float] = deque(maxlen=WINDOW)
        self.levels: Deque[float] = deque(maxlen=DIVERGING_REPORTS_MIN)
        self.count = 0
        # The lowest and the highest of the first START_REPORTS.
        self.start_low, self.start_high = math.inf, -math.inf
        self.first = math.nan
        self.best = math.inf
        self.noise = 0.0
        self.level = math.nan
        self.improved = math.inf
        self.improved_count = 0
        self.improved_at = at
        self.above = 0
        self.above_since = at
        self.last_at = at

    def add(self, value: float, at: float) -> None:
        if self.recent:
            change = abs(value - self.recent[-1])
            # A divergence is not noise: a change counts as a few times what is usual at most.
            change = change if self.count < REPORTS_MIN else min(change, NOISE_CHANGE_MAX * self.noise)
            self.noise += NOISE_WEIGHT * (change - self.noise)
        self.recent.append(value)
        self.count += 1
        if self.count <= START_REPORTS:
            self.start_low, self.start_high = min(self.start_low, value), max(self.start_high, value)
        self.last_at = at
        if len(self.recent) < WINDOW:
            return
        self.level = sorted(self.recent)[WINDOW // 2]
        self.levels.append(self.level)
        if math.isnan(self.first):
            self.first = self.best = self.improved = self.level
        if self.level < self.improved - IMPROVEMENT_FRACTION * max(self.first - self.best, 0.0):
            self.improved, self.improved_count, self.improved_at = self.level, self.count, at
        self.best = min(self.best, self.level)
        if self.level > self.limit():
            self.above_since = self.above_since if self.above else at
            self.above += 1
        else:
            self.above = 0

    def limit(self) -> float:
        """Returns the level above which the loss has diverged."""
        drop = max(self.first - self.best, 0.0)
        limit = self.best + max(DROP_FACTOR * drop, BEST_FACTOR * abs(self.best), NOISE_FACTOR * self.noise)
        limit = min(limit, LEVEL_MAX)
        if self.has_improved or self.start_low <= 0:
            return limit
        return min(limit, max(START_FACTOR * self.start_low, self.start_low + START_NOISE_FACTOR * self.noise))

    @property
    def has_improved(self) -> bool:
        return self.best < NEVER_IMPROVED_FACTOR * self.start_low

    @property
    def only_rises(self) -> bool:
        """Whether it is above its start, and has never been below."""
        return not self.has_improved and not self.has_collapsed

    @property
    def has_collapsed(self) -> bool:
        """Whether the loss has gone back to where it began, and stays exactly there."""
        gain = self.first - self.best
        if len(self.levels) < DIVERGING_REPORTS_MIN or gain <= 0 or gain < COLLAPSE_GAIN_MIN * abs(self.first):
            return False
        if self.level < self.best + COLLAPSE_LEVEL_MIN * gain:
            return False
        low, high = min(self.levels), max(self.levels)
        return low >= self.best + COLLAPSE_LEVEL_MIN * gain and high - low <= COLLAPSE_SPREAD_MAX * gain

    @property
    def is_diverging(self) -> bool:
        is_above = self.count >= REPORTS_MIN and (self.above >= DIVERGING_REPORTS_MIN or self._is_far)
        is_lost = self.has_exploded or (self.is_steady and (is_above or self.has_collapsed))
        # In a harder part of a curriculum, the loss falls again.
        return is_lost and not (self.has_improved and self.level < FALLING_FACTOR * max(self.levels))

    @property
    def _is_far(self) -> bool:
        return self.above >= FAR_REPORTS_MIN and self.level > FAR_FACTOR * self.limit() > 0

    @property
    def has_exploded(self) -> bool:
        if len(self.recent) < WINDOW or self.start_low <= 0:
            return False
        limit = FAR_EXPLODED_FACTOR * self.start_low
        limit = min(limit, EXPLODED_FACTOR * self.start_high) if self.is_steady else limit
        # The median is compared first, which is known.
        return self.level > limit and min(self.recent) > limit

    @property
    def is_flat(self) -> bool:
        since = self.count - self.improved_count
        return (
            self.count >= PLATEAU_REPORTS_MIN
            and since >= PLATEAU_FRACTION * self.count
            and self.last_at - self.improved_at >= PLATEAU_SECONDS_MIN
        )


class LossCurves:
    """Not thread-safe. Constant time and memory for each report; names beyond NAMES_MAX are ignored."""

    def __init__(self) -> None:
        self._curves: Dict[str, _Curve] = {}
        self._others: Dict[str, None] = {}
        self._found: Dict[str, Finding] = {}
        self._is_growing = False

    def add_sample(self, name: str, value: float, at: float) -> None:
        curve = self._curves.get(name)
        if curve is None:
            if name in self._others or len(self._curves) >= NAMES_MAX:
                return
            self._is_growing = self._is_growing or bool(words_of(name) & GROWING)
            if not is_loss(name):
                if len(self._others) < 1_000:
                    self._others[name] = None
                return
            curve = self._curves[name] = _Curve(is_steady_loss(name), at)
        if math.isfinite(value):
            curve.add(max(-1e300, min(1e300, value)), at)
            if self._found or curve.is_diverging or curve.count % CHECK_REPORTS == 0:
                self._update(name, curve, at)

    @property
    def is_diverging(self) -> bool:
        found = self._found.get('DIVERGING')
        return found is not None and found.until is None

    def findings(self) -> List[Finding]:
        return list(self._found.values())

    def _update(self, name: str, curve: _Curve, at: float) -> None:
        self._set('DIVERGING', name, _describe_divergence(name, curve) if self._is_lost(curve) else None, at)
        self._set('PLATEAU', name, _describe_plateau(name, curve) if curve.is_flat else None, at)

    def _is_lost(self, curve: _Curve) -> bool:
        if not curve.is_diverging or self._is_growing:
            return False
        # One of several losses may rise while their sum falls.
        others = (one for one in self._curves.values() if one.is_steady)
        return not curve.only_rises or not any(one.has_improved for one in others)

    def _set(self, code: str, name: str, finding: Optional[Finding], at: float) -> None:
        """One metric has the finding of a code: the first one, until it is over."""
        known = self._found.get(code)
        is_own = known is not None and known.evidence[:1] == (f'metric {name}',)
        if finding is not None and (known is None or is_own or known.until is not None):
            self._found[code] = finding
        elif finding is None and known is not None and is_own and known.until is None:
            self._found[code] = replace(known, until=at)


def _describe_divergence(name: str, curve: _Curve) -> Finding:
    return Finding(
        code='DIVERGING',
        message=f'{name} has risen to {curve.level:.4g}; its best was {curve.best:.4g}, after {curve.first:.4g}.',
        remedy=(
            'Lower the learning rate (a third is a common next try), warm it up, or clip the norm of gradients, and '
            'continue from the checkpoint with the best value.'
        ),
        since=curve.above_since,
        evidence=(f'metric {name}', f'{curve.above} reports in a row above {curve.limit():.4g}'),
    )


def _describe_plateau(name: str, curve: _Curve) -> Finding:
    flat = curve.count - curve.improved_count
    return Finding(
        code='PLATEAU',
        message=(
            f'{name} has not improved in the last {flat} of {curve.count} reports '
            f'({describe_seconds(curve.last_at - curve.improved_at)}); its best is {curve.best:.4g}.'
        ),
        remedy='Stop the training early, lower the learning rate, or change the model: more time brings little.',
        since=curve.improved_at,
        evidence=(f'metric {name}',),
    )
