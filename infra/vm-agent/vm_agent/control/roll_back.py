"""The end of a replica whose job goes back to an earlier checkpoint."""

import sys
import time
from dataclasses import replace
from typing import Optional

from vm_agent.control.context import Replica
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.program.exit_report import ExitReport
from vm_agent.storage.directory.job_directory import Fenced
from vm_agent.storage.restore.rollback import ROLLED_BACK_PREFIX, Moment, Rollback
from vm_agent.storage.transfer.client import StorageRejected


def is_rollback(report: ExitReport) -> bool:
    return report.health is not None and report.health.action == 'rollback'


def roll_back(replica: Replica, report: ExitReport, moment: Moment, seconds_max: float) -> ExitReport:
    """
    Makes the next attempt restore the files of an earlier moment; the output is saved. Returns the report, by which the
    job ends if there are no such files. Repeated after a reboot, it finds the same files.
    """
    policy = RetryPolicy(tries_max=sys.maxsize, seconds_max=seconds_max)
    try:
        rolled_back = Rollback(replica.directory, replica.sync.tree, policy).run(moment)
    except Fenced as fenced:
        return ExitReport('STOPPED', str(fenced), report.exit_code, report.signal)
    except (TransientError, StorageRejected, OSError) as error:
        return _stop(report, f'The job directory could not be changed back: {error}')
    if rolled_back is None:
        return _stop(report, 'The job directory has no complete set of files from before; it needs object versioning.')
    count, saved_at = len(rolled_back.files), rolled_back.saved_at
    what = 'no files' if saved_at is None else f'the {count} files that were saved until {_utc(saved_at)}'
    folder = f'{replica.config.spec.job_dir}/{ROLLED_BACK_PREFIX}attempt-{replica.config.spec.attempt}'
    kept = f' {len(rolled_back.kept)} newer files are kept in {folder}.' if rolled_back.kept else ''
    message = f'{report.message} Restored next: {what}.{kept}'
    replica.log(message, 'WARNING')
    return replace(report, message=message)


def _stop(report: ExitReport, why: str) -> ExitReport:
    assert report.health is not None
    return replace(report, message=f'{report.message} {why}', health=replace(report.health, action='stop'))


def _utc(at: Optional[float]) -> str:
    return time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(at))
