"""Notices of the machine's end: preemption and host maintenance, from the metadata server's long polls."""

import threading
import time
from typing import Callable, Optional

from vm_agent.decisions import StopNotice
from vm_agent.mailbox import Mailbox
from vm_agent.metadata_server import MetadataMissing, MetadataServer
from vm_agent.retry import PassingFault

RETRY_SECONDS = 5.0
# A server that answers at once what has not changed must not be asked in a tight loop.
POLL_SECONDS_MIN = 0.2
# VMs with GPUs have an hour, the others a minute (cloud.google.com/compute/docs/gpus/gpu-host-maintenance).
MAINTENANCE_NOTICE_SECONDS = 60.0


def watch_machine(metadata: MetadataServer, mailbox: Mailbox, preemption_notice_seconds: float) -> None:
    """Starts a thread for each kind of notice; a preemption comes so many seconds after its own."""

    def judge_new_preemption(value: str) -> Optional[StopNotice]:
        return judge_preempted(value, preemption_notice_seconds)

    for path, judge in (('preempted', judge_new_preemption), ('maintenance-event', judge_maintenance)):
        threading.Thread(
            target=_watch, args=(metadata, mailbox, path, judge), name=f'watch-{path}', daemon=True
        ).start()


def judge_preempted(value: str, seconds_left: Optional[float]) -> Optional[StopNotice]:
    """The notice in the value, if there is one; `seconds_left` is None where its time is over."""
    if value.upper() != 'TRUE':
        return None
    return StopNotice('PREEMPTED', 'Compute Engine gave notice that it takes the VM back.', seconds_left)


def judge_maintenance(value: str) -> Optional[StopNotice]:
    """A VM that is migrated notices nothing; one that is terminated has to save its work."""
    if not value.upper().startswith('TERMINATE'):
        return None
    message = f'Compute Engine gave notice of host maintenance ({value}).'
    return StopNotice('PREEMPTED', message, MAINTENANCE_NOTICE_SECONDS)


def explain_termination(metadata: MetadataServer) -> StopNotice:
    """The VM is being shut down: for preemption where the metadata server says so."""
    try:
        preempted = judge_preempted(metadata.get('preempted', timeout_seconds=2.0).strip(), None)
    except (PassingFault, MetadataMissing):
        preempted = None
    return preempted or StopNotice('STOPPED', 'The VM was shut down.')


def _watch(metadata: MetadataServer, mailbox: Mailbox, path: str, judge: Callable[[str], Optional[StopNotice]]) -> None:
    etag: Optional[str] = None
    while not mailbox.stopping.is_set():
        began = time.monotonic()
        try:
            # The first answer comes at once: the notice may have been given before this boot's agent looked.
            value = metadata.wait_for_change(path, etag or '0')
            etag = value.etag
            notice = judge(value.text)
            if notice is not None:
                mailbox.post(notice)
                return
        except MetadataMissing:
            return
        except PassingFault:
            mailbox.stopping.wait(RETRY_SECONDS)
        mailbox.stopping.wait(max(0.0, POLL_SECONDS_MIN - (time.monotonic() - began)))
