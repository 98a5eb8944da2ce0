"""The time of this boot: the wall clock when the agent started, continued by a clock that never jumps."""

import time


class BootClock:
    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """Returns seconds since the epoch; never goes back, even if the VM's clock is set."""
        return self._offset + time.monotonic()
