"""The interface of every source of metrics: a file, event files, objects in the bucket, or anything else."""

from typing import Any, Dict, List, Optional, Protocol

from vm_agent.metrics.samples.records import Sample


class MetricSource(Protocol):
    """Called by one thread at a time. No method raises for what a program has written."""

    step: Optional[float]
    """Where the training stands, None for this and the next if the program has not said."""
    steps_max: Optional[float]
    is_behind: bool
    """Whether the last call of `read` has left something to the next one."""

    def read(self, is_last: bool) -> List[Sample]:
        """
        Returns what was reported since the last call, a bounded part of it if it is much, in bounded time.
        `is_last`: the program has ended.
        """
        ...

    def to_json(self) -> Dict[str, Any]:
        """Returns where to go on after a reboot: what `read` has returned is not read again."""
        ...

    def restore(self, body: Dict[str, Any]) -> None:
        """Goes on after a reboot. Raises ValueError, KeyError or TypeError for what `to_json` has not returned."""
