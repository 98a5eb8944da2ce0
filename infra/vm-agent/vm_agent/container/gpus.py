"""The GPUs of a container."""

import os
from typing import Sequence

from vm_agent.container.engine import Engine
from vm_agent.program.gpus import list_gpus

CDI_FILES = ('/etc/cdi/nvidia.yaml', '/etc/cdi/nvidia.json', '/var/run/cdi/nvidia.yaml')


def device_arguments(engine: Engine, requested: int) -> Sequence[str]:
    """
    Returns the arguments for the GPUs that the job requested. A machine that is not checked for GPUs (`requested` is 0)
    may have some: all of them, if the engine can pass them on.
    """
    if requested == 0 and not (list_gpus()[0] > 0 and _has_toolkit(engine)):
        return ()
    return ('--gpus', str(requested) if requested > 0 else 'all')


def _has_toolkit(engine: Engine) -> bool:
    if any(os.path.exists(path) for path in CDI_FILES):
        return True
    return 'nvidia' in engine.run_tool(['info', '--format', '{{json .Runtimes}}']).stdout
