"""Which points of a series are uploaded, and which stay on the work disk, when the agent is killed in between."""

import gzip
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fake_storage import FakeStorage
from vm_agent.metrics.series import series_files
from vm_agent.metrics.series.series_history import SeriesHistory
from vm_agent.metrics.series.series_part import METRICS_KIND, SeriesOrigin
from vm_agent.metrics.series.series_upload import SeriesUpload
from vm_agent.metrics.series.thinned_series import Point
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.transfer.client import Author

TORN_LINE = b'{"name":"loss","values":[' + b'9,' * 500


class SeriesPartsTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.server = FakeStorage()
        self.addCleanup(self.server.close)
        self.boot(0, None)

    def boot(self, number: int, state: Optional[Dict[str, Any]]) -> None:
        """Starts an agent, after the one before was killed, with the state that this one stored."""
        directory = JobDirectory(self.server.connect(), 'gs://jobs/digits', Author('digits', 1))
        self.history = SeriesHistory(self.folder, METRICS_KIND, SeriesOrigin(1, 'master-0', number), lambda *_: None)
        self.history.recover(state)
        self.upload = SeriesUpload((self.history,), directory, lambda *_: None)

    def write(self, value: float) -> None:
        self.history.add('loss', Point(value, value, value))
        self.history.write(value, (0, 0))

    def tear(self) -> None:
        """Leaves the beginning of a line behind the last one, as a write does that was cut off."""
        (part,) = self.folder.iterdir()
        with open(part, 'ab') as file:
            file.write(TORN_LINE)

    def uploaded(self) -> List[float]:
        """Uploads what may be uploaded. Returns the values in the bucket."""
        self.upload.finish(5.0)
        parts = [gzip.decompress(stored.body) for _, stored in sorted(self.server.objects.items())]
        return [value for part in parts for line in part.splitlines() for value in json.loads(line)['values']]

    def test_points_are_uploaded_only_after_they_are_committed(self) -> None:
        self.write(1)
        self.history.commit()
        self.write(2)
        self.assertEqual(self.uploaded(), [1])
        self.history.commit()
        self.assertEqual(self.uploaded(), [1, 2])

    def test_a_line_that_a_kill_cut_off_is_dropped_by_the_next_boot(self) -> None:
        self.write(1)
        self.tear()
        self.boot(1, None)
        self.assertEqual(self.uploaded(), [1])

    def test_a_line_that_a_failed_write_cut_off_is_replaced_by_the_next_one(self) -> None:
        self.write(1)
        self.tear()
        self.write(2)
        self.history.commit()
        self.assertEqual(self.uploaded(), [1, 2])

    def test_a_full_part_is_removed_from_the_disk_only_after_its_upload(self) -> None:
        self.addCleanup(setattr, series_files, 'PART_BYTES_MAX', series_files.PART_BYTES_MAX)
        series_files.PART_BYTES_MAX = 1
        self.write(1)
        self.write(2)
        self.history.commit()
        self.assertEqual(len(list(self.folder.iterdir())), 2)
        self.assertEqual(self.uploaded(), [1, 2])
        self.assertEqual(len(list(self.folder.iterdir())), 1)

    def test_a_part_waits_for_its_upload_through_boots_that_write_nothing(self) -> None:
        self.write(1)
        for number in (1, 2):
            self.boot(number, self.history.to_json())
        self.assertEqual(self.uploaded(), [1])


if __name__ == '__main__':
    unittest.main()
