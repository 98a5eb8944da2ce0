"""The policy that the control plane writes for a job."""

from typing import Mapping, Optional

from vm_agent.health.policy import Policy

WARNED = (
    'DIVERGING',
    'PLATEAU',
    'STALLED',
    'GPU_IDLE',
    'GPU_MEMORY_LOW_USE',
    'MEMORY_NEAR_FULL',
    'DISK_NEAR_FULL',
    'INPUT_BOUND',
)


def policy_with(actions: Mapping[str, str], stalled_after_seconds: Optional[float] = None) -> Policy:
    """A job that says nothing else is stopped for a loss that is not finite, and warned of the rest."""
    return Policy({'NON_FINITE': 'stop', **dict.fromkeys(WARNED, 'warn'), **actions}, stalled_after_seconds)
