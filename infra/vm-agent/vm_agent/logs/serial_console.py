"""The agent's stderr, which is the VM's serial console."""

import sys


def write_to_console(text: str) -> None:
    """
    Writes a line, and never raises. At a shutdown the process that reads the startup script's output ends first; the
    broken pipe must not keep the agent from saving the output and reporting its exit.
    """
    try:
        print(f'dropforge-agent: {text}', file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Python raises ValueError for a closed stream. There is no other channel to report it on.
        return
