"""Which of the event files that have the same tags is which: TensorBoard's runs, by the folders of the files."""

from typing import Any, Dict, List, Set

from vm_agent.metrics.samples.records import Sample
from vm_agent.metrics.sources.event_protobuf import Scalar
from vm_agent.metrics.sources.source import MetricSource

EVALUATION_FOLDERS = ('validation', 'val', 'valid')
# Keras writes to `train` and `validation`, Estimator to the job directory and `eval` or `eval_<name>`.
NAMED_FOLDERS = (*EVALUATION_FOLDERS, 'train', 'training', 'test', 'testing')
# In memory; metrics beyond the limit of names are dropped later.
TAG_COUNT_MAX = 10_000


class EventRuns:
    """
    Of a tag that is in several folders, the one of the evaluation counts. Its history has all of them: the series of
    these folders, and of the second and later folders of any other name, begin with the name of the folder.
    """

    def __init__(self) -> None:
        self._evaluated: Set[str] = set()
        self._owners: Dict[str, str] = {}

    def samples_of(self, name: str, scalars: List[Scalar]) -> List[Sample]:
        """`name` is that of the event file, with its folders."""
        folder = name.rpartition('/')[0]
        last_folder = folder.rpartition('/')[2]
        is_named = last_folder in NAMED_FOLDERS or last_folder.startswith('eval')
        is_evaluated = is_evaluation(name)
        samples = []
        for tag, step, wall_time, value in scalars:
            if is_evaluated and len(self._evaluated) < TAG_COUNT_MAX:
                self._evaluated.add(tag)
            is_shadowed = not is_evaluated and tag in self._evaluated
            run = last_folder if is_named or self._owner_of(tag, folder) != folder else ''
            samples.append(Sample(tag, value, float(step), wall_time or None, run, is_shadowed))
        return samples

    def _owner_of(self, tag: str, folder: str) -> str:
        owner = self._owners.get(tag)
        if owner is None:
            owner = folder
            if len(self._owners) < TAG_COUNT_MAX:
                self._owners[tag] = folder
        return owner

    def to_json(self) -> Dict[str, Any]:
        return {'evaluated': sorted(self._evaluated), 'owners': self._owners}

    def restore(self, body: Dict[str, Any]) -> None:
        self._evaluated, self._owners = set(body['evaluated']), dict(body['owners'])


def is_evaluation(name: str) -> bool:
    """Whether an event file is in a folder of an evaluation."""
    folders = name.split('/')[:-1]
    return any(folder in EVALUATION_FOLDERS or folder.startswith('eval') for folder in folders)


class EventSource(MetricSource):
    """A source that reads several event files, on a disk or in a bucket."""

    def __init__(self) -> None:
        self._runs = EventRuns()

    def to_json(self) -> Dict[str, Any]:
        return {'runs': self._runs.to_json(), 'step': self.step}

    def restore(self, body: Dict[str, Any]) -> None:
        self._runs.restore(body['runs'])
        self.step = body['step']

    def _in_order(self, samples: List[Sample]) -> List[Sample]:
        """Returns them in the order of their times. The step is that of the last one that counts."""
        ordered = sorted(samples, key=lambda one: one.wall_time or 0.0)
        self.step = next((one.step for one in reversed(ordered) if not one.is_shadowed), self.step)
        return ordered
