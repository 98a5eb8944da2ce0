"""A source of metrics: a file, event files, objects in the bucket, or anything else."""

from typing import Any, Dict, List, Optional

from vm_agent.metrics.samples.records import Report, Sample


class MetricSource:
    """Called by one thread at a time. No method raises for what a program has written."""

    step: Optional[float] = None
    """Where the training stands, None for this and the next if the program has not said."""
    steps_max: Optional[float] = None
    is_behind = False
    """Whether the last call of `read` has left something to the next one."""

    def read(self, is_last: bool = False) -> List[Sample]:
        """
        Returns what was reported since the last call, a bounded part of it if it is much, in bounded time.
        `is_last`: the program has ended.
        """
        raise NotImplementedError

    def to_json(self) -> Dict[str, Any]:
        """Returns where to go on after a reboot: what `read` has returned is not read again."""
        return {'step': self.step, 'stepsMax': self.steps_max}

    def restore(self, body: Dict[str, Any]) -> None:
        """Goes on after a reboot. Raises ValueError, KeyError or TypeError for what `to_json` has not returned."""
        self.step, self.steps_max = body['step'], body['stepsMax']

    def _follow(self, report: Report) -> List[Sample]:
        """Returns the samples of a report; one that does not say where the training stands is of the last step."""
        self.step = self.step if report.step is None else report.step
        self.steps_max = self.steps_max if report.steps_max is None else report.steps_max
        return [Sample(name, value, self.step) for name, value in report.metrics.items()]
