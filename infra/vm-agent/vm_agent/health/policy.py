"""
The consequences that the job file wants of findings: `health` in this VM's configuration (shared/domain/health.ts).
"""

from dataclasses import dataclass, replace
from typing import Any, Mapping, Optional

# By the name of the field: the code, and its default.
FIELDS: Mapping[str, Any] = {
    'nonFinite': ('NON_FINITE', 'stop'),
    'diverging': ('DIVERGING', 'warn'),
    'plateau': ('PLATEAU', 'warn'),
    'stalled': ('STALLED', 'warn'),
    'gpuIdle': ('GPU_IDLE', 'warn'),
    'gpuMemoryLowUse': ('GPU_MEMORY_LOW_USE', 'warn'),
    'memoryNearFull': ('MEMORY_NEAR_FULL', 'warn'),
    'diskNearFull': ('DISK_NEAR_FULL', 'warn'),
    'inputBound': ('INPUT_BOUND', 'warn'),
}
DEFAULT_ACTIONS: Mapping[str, str] = {code: action for code, action in FIELDS.values()}
WAITING_ROLES = ('ps', 'evaluator')
ACTIONS = ('warn', 'stop', 'restart', 'rollback', 'ignore')


@dataclass(frozen=True)
class Policy:
    actions: Mapping[str, str]
    """By code; a code that is missing has its default."""
    stalled_after_seconds: Optional[float] = None
    """Replaces the time without activity that follows from the job's own pace."""

    def action_of(self, code: str) -> str:
        return self.actions.get(code, DEFAULT_ACTIONS[code])

    def of_replica(self, role: str, saves_output: bool) -> 'Policy':
        """
        Returns the policy of one replica. Parameter servers and evaluators wait for others, and only the replica that
        saves the output can go back to an earlier one.
        """
        actions = dict(self.actions)
        if role in WAITING_ROLES:
            actions.update({'STALLED': 'ignore', 'GPU_IDLE': 'ignore'})
        if not saves_output:
            actions = {code: 'warn' if action == 'rollback' else action for code, action in actions.items()}
        return replace(self, actions=actions)


def read_policy(body: Mapping[str, Any]) -> Policy:
    """Reads what the job says; the rest has its default. Raises ValueError for an unknown field, action or time."""
    actions = dict(body)
    seconds = actions.pop('stalledAfterSeconds', None)
    for name, action in actions.items():
        if name not in FIELDS or action not in ACTIONS:
            raise ValueError(f'{name} = {action!r} is not a field with an action')
    if seconds is not None and type(seconds) not in (int, float):
        raise ValueError(f'stalledAfterSeconds must be a number, not {seconds!r}')
    return Policy({FIELDS[name][0]: action for name, action in actions.items()}, seconds and float(seconds))
