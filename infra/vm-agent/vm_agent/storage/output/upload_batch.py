"""Uploads of the files of one snapshot, in parallel."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, Mapping, Union

from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.transfer.body import FileChanged
from vm_agent.storage.transfer.client import ObjectInfo, StorageRejected


@dataclass(frozen=True)
class UploadBatch:
    directory: JobDirectory
    policy: Callable[[], RetryPolicy]
    """Returns the policy for the next file."""
    is_cancelled: Callable[[], bool]
    stops_at_outage: bool
    """Whether no further upload starts after a TransientError: the next round continues."""


@dataclass(frozen=True)
class UploadResults:
    stored: Dict[str, ObjectInfo]
    failed: Dict[str, Exception]
    """By name: StorageRejected, TransientError, FileChanged or OSError. Files in neither were not started."""


def upload_batch(batch: UploadBatch, paths: Mapping[str, Path]) -> UploadResults:
    """Uploads each file under its name below the job directory. Raises Fenced."""
    has_outage = threading.Event()

    def upload(name: str) -> Union[ObjectInfo, Exception, None]:
        if batch.is_cancelled() or (batch.stops_at_outage and has_outage.is_set()):
            return None
        policy = batch.policy()
        if policy.seconds_max <= 0:
            # Every further file would be tried once, for as long as its connection takes to time out.
            return TransientError('the time to upload it is over')
        try:
            return batch.directory.upload(name, paths[name], policy)
        except (StorageRejected, FileChanged, OSError) as error:
            return error
        except TransientError as error:
            has_outage.set()
            return error

    outcomes = dict(zip(paths, batch.directory.storage.transfers.map(upload, paths)))
    return UploadResults(
        stored={name: outcome for name, outcome in outcomes.items() if isinstance(outcome, ObjectInfo)},
        failed={name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Exception)},
    )
