"""What the agent writes for whoever looks at the VM's serial console: its stderr."""

import sys


def show(text: str) -> None:
    """
    Writes a line, and never raises. At a shutdown the reader of the startup script's output is ended first, and the
    broken pipe must not keep the agent from saving the work and saying how it ended.
    """
    try:
        print(f'dropforge-agent: {text}', file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # ValueError is what Python raises for a stream that is closed. Nobody is left to be told.
        return
