"""Notices of preemption and host maintenance, from long polls of the metadata server."""

import json
import threading
import time
from datetime import datetime
from typing import Callable, Iterator, Optional, Tuple

from vm_agent.control.decisions import StopNotice
from vm_agent.control.metadata_server import LONG_POLL_SECONDS, MetadataMissing, MetadataServer
from vm_agent.control.stop_signal import StopSignal
from vm_agent.http.retry import TransientError

RETRY_SECONDS = 5.0
# Keeps the poll loop from spinning if the server returns an unchanged value immediately.
POLL_SECONDS_MIN = 0.2
# VMs with GPUs get an hour of notice, others a minute (cloud.google.com/compute/docs/gpus/gpu-host-maintenance).
MAINTENANCE_NOTICE_SECONDS = 60.0
GPU_MAINTENANCE_NOTICE_SECONDS = 3_600.0
# How long before host maintenance the program is stopped, so that its grace period and the final save fit; half of a
# shorter notice.
MAINTENANCE_STOP_SECONDS_MAX = 300.0


def watch_machine(
    metadata: MetadataServer, stop_signal: StopSignal, preemption_notice_seconds: float, has_gpu: bool
) -> None:
    """Starts a thread per kind of notice. `preemption_notice_seconds` is the time between notice and preemption."""
    notice_seconds = GPU_MAINTENANCE_NOTICE_SECONDS if has_gpu else MAINTENANCE_NOTICE_SECONDS
    for name, watch, seconds in (
        ('preempted', _watch_preemption, preemption_notice_seconds),
        ('maintenance', _watch_maintenance, notice_seconds),
    ):
        threading.Thread(
            target=watch, args=(metadata, stop_signal, seconds), name=f'watch-{name}', daemon=True
        ).start()


def parse_preempted(value: str, seconds_left: Optional[float]) -> Optional[StopNotice]:
    """Returns a notice for `TRUE`, else None. `seconds_left` is None if the VM is already being shut down."""
    if value.upper() != 'TRUE':
        return None
    return StopNotice('PREEMPTED', 'Compute Engine is preempting the VM.', seconds_left, is_interruption=True)


def is_terminating(maintenance_event: str) -> bool:
    """Whether maintenance terminates the VM; a live migration needs no action."""
    return maintenance_event.upper().startswith('TERMINATE')


def stop_lead_seconds(seconds_left: float) -> float:
    """Returns how long before the end of a VM with this notice its program is stopped."""
    return min(MAINTENANCE_STOP_SECONDS_MAX, seconds_left / 2)


def seconds_until_window(upcoming_maintenance: str, now: float, seconds_max: float) -> float:
    """
    Returns the time until the start of the maintenance window, at most `seconds_max`, or `seconds_max` if the JSON of
    `upcoming-maintenance` names none. `now` is in seconds since the epoch.
    """
    try:
        body = json.loads(upcoming_maintenance)
        text = body.get('windowStartTime') or body.get('window_start_time')
        start = datetime.fromisoformat(str(text).replace('Z', '+00:00')).timestamp()
    except (ValueError, AttributeError):
        return seconds_max
    return min(max(0.0, start - now), seconds_max)


def explain_termination(metadata: MetadataServer) -> StopNotice:
    """Returns the reason for a shutdown of the VM: preemption if the metadata server reports one."""
    try:
        preempted = parse_preempted(metadata.get('preempted', timeout_seconds=2.0).strip(), None)
    except (TransientError, MetadataMissing):
        preempted = None
    return preempted or StopNotice('STOPPED', 'The VM was shut down.', is_interruption=True)


def _watch_preemption(metadata: MetadataServer, stop_signal: StopSignal, notice_seconds: float) -> None:
    for value in _values(metadata, stop_signal, lambda: ('preempted', LONG_POLL_SECONDS)):
        notice = parse_preempted(value, notice_seconds)
        if notice is not None:
            stop_signal.request_stop(notice)
            return


def _watch_maintenance(metadata: MetadataServer, stop_signal: StopSignal, notice_seconds: float) -> None:
    """Announces maintenance at its notice, so that the output is saved, and stops the program before it."""
    ends_at: Optional[float] = None
    stops_at = float('inf')

    def poll() -> Tuple[str, float]:
        return 'maintenance-event', stops_at - time.monotonic()

    for value in _values(metadata, stop_signal, poll):
        if not is_terminating(value):
            if ends_at is not None:
                stop_signal.withdraw()
            ends_at, stops_at = None, float('inf')
        elif ends_at is None:
            left = seconds_until_window(_upcoming_maintenance(metadata), time.time(), notice_seconds)
            ends_at = time.monotonic() + left
            stops_at = ends_at - stop_lead_seconds(left)
            stop_signal.announce(_maintenance_notice(value, left))
        if ends_at is not None and time.monotonic() >= stops_at:
            stop_signal.request_stop(_maintenance_notice(value, ends_at - time.monotonic()))
            return


def _maintenance_notice(event: str, seconds_left: float) -> StopNotice:
    left = max(0.0, seconds_left)
    message = f'Compute Engine terminates the VM for host maintenance in {left:.0f} s ({event}).'
    return StopNotice('PREEMPTED', message, left, is_interruption=True)


def _upcoming_maintenance(metadata: MetadataServer) -> str:
    try:
        return metadata.get('upcoming-maintenance?alt=json&recursive=true')
    except (TransientError, MetadataMissing):
        return ''


def _values(
    metadata: MetadataServer, stop_signal: StopSignal, poll: Callable[[], Tuple[str, float]]
) -> Iterator[str]:
    """
    Yields the value of a path whenever it changes, and after each poll; ends with a stop, or if there is no such value.
    `poll` returns the path and the longest time to wait for a change, in seconds.
    """
    # An etag of 0 returns immediately: the notice may have been given before the agent started.
    etag = '0'
    while not stop_signal.requested.is_set():
        started_at = time.monotonic()
        path, seconds_max = poll()
        try:
            value, etag = metadata.wait_for_change(path, etag, seconds_max)
            yield value
        except MetadataMissing:
            return
        except TransientError:
            stop_signal.requested.wait(RETRY_SECONDS)
        stop_signal.requested.wait(max(0.0, POLL_SECONDS_MIN - (time.monotonic() - started_at)))
