"""
Pulls one image as the agent does, with the machine's engine. Reads a JSON object from stdin, and prints one JSON object
a line: log lines, and how it ended.
"""

import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Mapping, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.container.engine import find_engine
from vm_agent.container.pull import PullContext, RegistryAccess, pull_image
from vm_agent.container.pull_space import DiskAllowance
from vm_agent.container.spec import ContainerSpec
from vm_agent.control.config import Limits
from vm_agent.control.decisions import StopNotice
from vm_agent.control.stop_signal import StopSignal
from vm_agent.control.supervisor import Monitored, Supervisor
from vm_agent.http.retry import RetryPolicy
from vm_agent.logs.mask import Mask
from vm_agent.program.child_process import Command
from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.setup.installers import ToolResult

LIMITS = Limits(
    max_running_seconds=3_600,
    setup_seconds=3_600,
    stop_grace_seconds=20,
    final_save_seconds=30,
    earlier_save_seconds=0,
    preemption_notice_seconds=120,
    control_plane_timeout_seconds=3_600,
    upload_seconds=60,
    keep_on_failure_seconds=0,
    disk_bytes_max=1 << 40,
    log_bytes_max=1 << 30,
    disk_setting='bootDiskSizeGb',
)


def spec_of(options: Mapping[str, Any]) -> ContainerSpec:
    return ContainerSpec(
        image=options['image'],
        size_bytes=options['sizeBytes'],
        disk_bytes_min=2 * options['sizeBytes'],
        disk_bytes_estimate=3 * options['sizeBytes'],
        argv=(),
        user='',
        working_directory='',
        credentials=options.get('credentials', 'NONE'),
        credentials_secret='projects/lab/secrets/ghcr/versions/1' if 'secret' in options else None,
    )


def main() -> int:
    options = json.load(sys.stdin)
    engine = find_engine(os.environ)
    assert engine is not None
    stop_signal, mask, lock = StopSignal(), Mask(), threading.Lock()
    stop_signal.handle_termination_signals(lambda: StopNotice('STOPPED', 'The VM is shut down.'))

    def show(**body: Any) -> None:
        with lock:
            print(json.dumps(body), flush=True)

    def read_secret(_version: str, _policy: RetryPolicy) -> str:
        mask.add(options['secret'])
        return str(options['secret'])

    supervisor = Supervisor(
        Monitored(LIMITS, stop_signal, lambda: float('inf'), lambda: 0, lambda _stream, block: show(tool=block.decode()))
    )
    with tempfile.TemporaryDirectory() as folder:

        def run(argv: Sequence[str], environment: Mapping[str, str]) -> ToolResult:
            return supervisor.run_tool(Command(argv, environment, Path(folder), b'DROPFORGE_VM=test', mask))

        context = PullContext(
            folder=Path(folder),
            policy=RetryPolicy(sys.maxsize, 30, stop_signal.requested),
            run=run,
            disk=DiskAllowance(
                lambda: int(options.get('diskBytesMax', LIMITS.disk_bytes_max)), LIMITS.disk_remedy, is_own_disk=True
            ),
            check=supervisor.check,
            access=RegistryAccess(lambda: 'ya29.token', lambda: 'vm@lab.iam.gserviceaccount.com', read_secret),
            mask=mask,
            log=lambda text, severity: show(log=mask(text), severity=severity),
            pauses_seconds=(0.5, 0.5),
        )
        try:
            pull_image(engine, spec_of(options), context)
            show(ended='PULLED', left=os.listdir(folder))
        except ReplicaEnded as end:
            evidence = [mask(line) for line in end.report.evidence]
            host, message = end.report.unreachable_host, mask(end.report.message)
            show(ended=end.report.reason, host=host, message=message, evidence=evidence, left=os.listdir(folder))
    return 0


if __name__ == '__main__':
    sys.exit(main())
