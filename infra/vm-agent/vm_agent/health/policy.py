"""The consequences of findings on this VM: `health` in its configuration (shared/protocol/vm-config.ts)."""

from dataclasses import dataclass
from typing import Mapping, Optional


@dataclass(frozen=True)
class Policy:
    actions: Mapping[str, str]
    """By the code of a finding: warn, stop, restart, rollback or ignore."""
    stalled_after_seconds: Optional[float]
    """Replaces the time without activity that follows from the job's own pace."""
