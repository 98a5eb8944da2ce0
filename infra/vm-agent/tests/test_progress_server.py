import json
import os
import sys
import tempfile
import time
import unittest
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Dict
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.metrics.program_metrics import MetricPaths, ProgramMetrics
from vm_agent.metrics.sources.progress_server import BODY_BYTES_MAX, TOKEN_FILE


class ProgressServerTest(unittest.TestCase):
    """Requests as the KubeflowCallback of Transformers sends them while a program trains."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        self.folder = self.home / 'metrics'
        self.metrics = ProgramMetrics(MetricPaths(self.home))
        self.metrics.start(time.time(), False, 3_600.0)

    def start(self) -> None:
        (self.url,) = self.metrics.progress_server.start(self.folder).values()
        self.token = (self.folder / TOKEN_FILE).read_text()

    def post(self, body: bytes, token: str) -> int:
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=10.0)
        self.addCleanup(connection.close)
        connection.request('POST', '/', body, {'Authorization': f'Bearer {token}'})
        return connection.getresponse().status

    def report(self, percent: int, **metrics: Any) -> None:
        values = [{'name': name, 'value': str(value)} for name, value in metrics.items()]
        status: Dict[str, Any] = {'progressPercentage': percent, 'metrics': values}
        self.assertEqual(self.post(json.dumps({'trainerStatus': status}).encode(), self.token), 200)

    def progress(self) -> Any:
        found = self.metrics.read()
        return found.step, found.steps_max, found.metrics

    def test_the_step_and_the_number_of_steps_are_the_progress_of_the_program(self) -> None:
        self.start()
        self.report(0, total_steps=120)
        self.assertEqual(self.progress(), (None, 120.0, {}))
        self.report(17, loss=0.3, current_step=21, total_steps=120, current_epoch=0.39)
        self.assertEqual(self.progress(), (21.0, 120.0, {}))

    def test_the_last_report_which_names_no_step_is_of_the_last_step(self) -> None:
        self.start()
        self.report(99, current_step=119, total_steps=120)
        self.report(100, train_runtime=3.2)
        self.assertEqual(self.progress(), (120.0, 120.0, {}))

    def test_no_other_program_of_the_machine_can_report(self) -> None:
        self.start()
        self.assertEqual(self.post(b'{"trainerStatus": {"metrics": [{"name": "current_step", "value": "9"}]}}', 'x'), 401)
        self.assertEqual(self.progress(), (None, None, {}))

    def test_a_body_that_is_not_a_report_changes_nothing(self) -> None:
        self.start()
        self.report(17, current_step=21, total_steps=120)
        for body in (
            b'',
            b'[]',
            b'{"trainerStatus": 7}',
            b'{"trainerStatus": {"metrics": [{"name": "current_step", "value": "soon"}]}}',
            b'{"trainerStatus": {"metrics": [{"name": "current_step", "value": "nan"}]}}',
            b'{"trainerStatus": {"metrics": [{"name": "current_step", "value": 1%s}]}}' % (b'0' * 400),
            b'[' * BODY_BYTES_MAX * 2,
        ):
            self.post(body, self.token)
            self.assertEqual(self.progress(), (21.0, 120.0, {}), body[:80])

    def test_a_link_that_a_program_left_is_not_followed(self) -> None:
        elsewhere = self.home / 'elsewhere'
        elsewhere.mkdir()
        self.folder.symlink_to(elsewhere)
        self.start()
        self.assertEqual(os.listdir(elsewhere), [])


if __name__ == '__main__':
    unittest.main()
