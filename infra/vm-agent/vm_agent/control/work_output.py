"""The working directory as a part of the job's output."""

from pathlib import Path
from typing import Optional

from vm_agent.control.context import Replica
from vm_agent.storage.output.output_rule import OutputRule
from vm_agent.storage.output.work_folder import WorkFolder, read_baseline

BASELINE_FILE = 'workdir-baseline.json'


def open_work_folder(replica: Replica, folder: Optional[Path]) -> Optional[WorkFolder]:
    """Returns None if the working directory is not saved. Called before the program's first start, and at each boot."""
    options = replica.config.options
    if folder is None or not options.workdir_outputs:
        return None
    baseline = read_baseline(folder, replica.home / BASELINE_FILE)
    return WorkFolder(folder, baseline, OutputRule(options.outputs), replica.findings.add_left_out)


def open_layer(replica: Replica, layer: Path) -> Optional[WorkFolder]:
    """Returns the same for the layer of a container, which has only what the container has written."""
    options = replica.config.options
    if not options.workdir_outputs:
        return None
    return WorkFolder(layer, {}, OutputRule(options.outputs), lambda left_out: None, is_layer=True)
