"""Notices of preemption and host maintenance, from long polls of the metadata server."""

import threading
import time
from typing import Callable, Optional

from vm_agent.control.decisions import StopNotice
from vm_agent.control.metadata_server import MetadataMissing, MetadataServer
from vm_agent.control.stop_signal import StopSignal
from vm_agent.http.retry import TransientError

RETRY_SECONDS = 5.0
# Keeps the poll loop from spinning if the server returns an unchanged value immediately.
POLL_SECONDS_MIN = 0.2
# VMs with GPUs get an hour of notice, others a minute (cloud.google.com/compute/docs/gpus/gpu-host-maintenance).
MAINTENANCE_NOTICE_SECONDS = 60.0


def watch_machine(metadata: MetadataServer, stop_signal: StopSignal, preemption_notice_seconds: float) -> None:
    """Starts a thread per kind of notice. `preemption_notice_seconds` is the time between notice and preemption."""

    def parse_new_preemption(value: str) -> Optional[StopNotice]:
        return parse_preempted(value, preemption_notice_seconds)

    for path, parse in (('preempted', parse_new_preemption), ('maintenance-event', parse_maintenance_event)):
        threading.Thread(
            target=_watch, args=(metadata, stop_signal, path, parse), name=f'watch-{path}', daemon=True
        ).start()


def parse_preempted(value: str, seconds_left: Optional[float]) -> Optional[StopNotice]:
    """Returns a notice for `TRUE`, else None. `seconds_left` is None if the VM is already being shut down."""
    if value.upper() != 'TRUE':
        return None
    return StopNotice('PREEMPTED', 'Compute Engine is preempting the VM.', seconds_left)


def parse_maintenance_event(value: str) -> Optional[StopNotice]:
    """Returns a notice if maintenance terminates the VM; None if it live-migrates it, which needs no action."""
    if not value.upper().startswith('TERMINATE'):
        return None
    message = f'Compute Engine terminates the VM for host maintenance ({value}).'
    return StopNotice('PREEMPTED', message, MAINTENANCE_NOTICE_SECONDS)


def explain_termination(metadata: MetadataServer) -> StopNotice:
    """Returns the reason for a shutdown of the VM: preemption if the metadata server reports one."""
    try:
        preempted = parse_preempted(metadata.get('preempted', timeout_seconds=2.0).strip(), None)
    except (TransientError, MetadataMissing):
        preempted = None
    return preempted or StopNotice('STOPPED', 'The VM was shut down.')


def _watch(
    metadata: MetadataServer, stop_signal: StopSignal, path: str, parse: Callable[[str], Optional[StopNotice]]
) -> None:
    etag: Optional[str] = None
    while not stop_signal.requested.is_set():
        started_at = time.monotonic()
        try:
            # An etag of 0 returns immediately: the notice may have been given before the agent started.
            value = metadata.wait_for_change(path, etag or '0')
            etag = value.etag
            notice = parse(value.text)
            if notice is not None:
                stop_signal.request_stop(notice)
                return
        except MetadataMissing:
            return
        except TransientError:
            stop_signal.requested.wait(RETRY_SECONDS)
        stop_signal.requested.wait(max(0.0, POLL_SECONDS_MIN - (time.monotonic() - started_at)))
