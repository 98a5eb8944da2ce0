"""Which samples are taken: a bounded number of names, each from one source."""

from typing import Any, Dict, FrozenSet, Optional, Set

from vm_agent.logs.mask import Mask
from vm_agent.metrics.samples.metric_names import kind_of
from vm_agent.metrics.samples.records import Sample

# The number of metrics whose source is known; a program that reports more names has no use for the rest.
NAME_COUNT_MAX = 1_000
NAME_CHARS_MAX = 128
# The names beyond the limit are counted as long as their number is below this.
OMITTED_NAME_COUNT_MAX = 20_000


class SampleNames:
    """Not thread-safe."""

    def __init__(self, mask: Mask, wanted: Set[str]) -> None:
        """`mask` is applied to the names. `wanted` are taken however many there are."""
        self._mask = mask
        self._wanted = wanted
        self._ranks: Dict[str, int] = {}
        self._kinds: Dict[FrozenSet[str], int] = {}
        self.counts: Dict[str, int] = {}
        """The number of the last report of each metric that is reported without a step."""
        self._shown: Dict[str, str] = {}
        self._omitted: Set[int] = set()
        self.omitted_sample_count = 0

    @property
    def omitted_name_count(self) -> int:
        """At most OMITTED_NAME_COUNT_MAX."""
        return len(self._omitted)

    def has(self, name: str, rank_max: int) -> bool:
        """Whether a metric is known from a source of this rank or a better one."""
        rank = self._ranks.get(name)
        return rank is not None and rank <= rank_max

    def has_kind(self, name: str, rank_max: int) -> bool:
        """Whether the same metric is known from a source of this rank or a better one, maybe under another name."""
        rank = self._kinds.get(kind_of(name))
        return rank is not None and rank <= rank_max

    def take(self, name: str, rank: int) -> Optional[str]:
        """Returns the name to show for one that a source of this rank reports; None if its reports are not taken."""
        known = self._ranks.get(name)
        if known is None and not self._has_room(name):
            self.omitted_sample_count += 1
            return None
        if known is not None and known < rank:
            return None
        if known is None:
            self._add_kind(name, rank)
        self._ranks[name] = rank
        shown = self._shown.get(name)
        if shown is None:
            shown = self._shown[name] = self._mask(name)[:NAME_CHARS_MAX]
        return shown

    def _add_kind(self, name: str, rank: int) -> None:
        kind = kind_of(name)
        self._kinds[kind] = min(rank, self._kinds.get(kind, rank))

    def _has_room(self, name: str) -> bool:
        if len(self._ranks) < NAME_COUNT_MAX or name in self._wanted:
            return True
        if len(self._omitted) < OMITTED_NAME_COUNT_MAX:
            self._omitted.add(hash(name))
        return False

    def step_of(self, sample: Sample) -> float:
        """Returns the program's step, or the number of the report if it has none."""
        if sample.step is not None:
            return sample.step
        count = self.counts[sample.name] = self.counts.get(sample.name, 0) + 1
        return count

    def to_json(self) -> Dict[str, Any]:
        return {'ranks': self._ranks, 'counts': self.counts}

    def restore(self, body: Dict[str, Any]) -> None:
        self._ranks, self.counts = dict(body['ranks']), dict(body['counts'])
        for name, rank in self._ranks.items():
            self._add_kind(name, rank)
