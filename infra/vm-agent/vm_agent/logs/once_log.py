"""Warnings of which the first one says enough."""

from typing import Callable, Set

# A bound on the memory for them.
TOPICS_MAX = 100


class OnceLog:
    def __init__(self, log: Callable[[str, str], None]) -> None:
        """`log(text, severity)` logs a line."""
        self._log = log
        self._topics: Set[str] = set()

    def warn(self, text: str, topic: str = '') -> None:
        """Logs the first warning on a topic; without a topic, each text once."""
        topic = topic or text
        if topic not in self._topics and len(self._topics) < TOPICS_MAX:
            self._topics.add(topic)
            self._log(text, 'WARNING')
