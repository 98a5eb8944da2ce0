"""The log of a replica: shipped to Cloud Logging, and kept complete on the disk, to be uploaded if wanted."""

from typing import Callable

from vm_agent.control.vm import Vm
from vm_agent.logs.cloud_logging import CloudLogging
from vm_agent.logs.fold import FoldLimits
from vm_agent.logs.full_log import FullLog
from vm_agent.logs.log_entries import LogSource
from vm_agent.logs.log_shipper import LogSettings, LogShipper
from vm_agent.logs.mask import Mask
from vm_agent.logs.output_log import OutputLog
from vm_agent.storage.directory.log_upload import LogUpload, logs_prefix_of

FLUSH_SECONDS_MAX = 10.0
# For the rest of the complete log after a program that ended by itself.
UPLOAD_SECONDS_MAX = 300.0
# The share of the work disk that the complete log may take until it is uploaded.
DISK_FRACTION_MAX = 0.1
DISK_BYTES_MAX = 2_147_483_648


class Logs:
    """Started once. The program's output ends before the rest: the agent logs until its exit report is delivered."""

    def __init__(self, vm: Vm) -> None:
        config, spec, instance = vm.config, vm.config.spec, vm.instance
        self.mask = Mask()
        settings = LogSettings(f'{instance.instance_id}-{vm.boot}', config.intervals.log_seconds, self.mask)
        source = LogSource(
            spec.project_id, spec.job_id, spec.attempt, spec.name, instance.instance_id, instance.zone
        )
        self._shipper = LogShipper(settings, CloudLogging(config.endpoints.logging_url, source, vm.token).write)
        self.log = self._shipper.log
        bytes_max = min(DISK_BYTES_MAX, int(DISK_FRACTION_MAX * config.limits.disk_bytes_max))
        name = f'attempt-{spec.attempt}-{spec.name}-boot-{vm.boot:04d}'
        self._full_log = FullLog(vm.home / 'logs', name, bytes_max)
        uri = f'{spec.job_dir}/{logs_prefix_of(spec.job_id)}'
        self._output = OutputLog(self._shipper, self._full_log, FoldLimits(config.limits.log_bytes_max), uri)
        self.add_output = self._output.add
        self._upload = LogUpload(self._full_log, vm.directory, self.log)

    def start(self) -> None:
        self._shipper.on_flush, self._shipper.on_lost = self._output.flush, self._full_log.want
        self._shipper.start()

    def start_upload(self) -> None:
        """Uploads what earlier boots have left, too: called when all else has started."""
        self._upload.start()

    def end_output(self) -> None:
        """The program has ended: ships the rest of its output."""
        self._output.finish()

    def finish(self, last_line: str, is_hurried: bool, is_unreachable: Callable[[], bool]) -> None:
        """Delivers all lines, `last_line` included, and uploads the complete log; see LogShipper.close."""
        self._upload.finish(FLUSH_SECONDS_MAX if is_hurried else UPLOAD_SECONDS_MAX)
        self.log(last_line)
        self._shipper.close(FLUSH_SECONDS_MAX, is_unreachable)
        # Lines that could not be delivered until now make the complete log wanted.
        self._upload.finish(FLUSH_SECONDS_MAX)
