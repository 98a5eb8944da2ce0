"""The secret of an attempt, which the answers to heartbeats bring."""

import json
import sys
import tempfile
import threading
import time
import unittest
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Dict, Optional

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))

from golden_checks import golden
from vm_agent.control.config import read_config
from vm_agent.control.heartbeats import Heartbeats
from vm_agent.control.logs import Logs
from vm_agent.control.metadata_server import Instance
from vm_agent.control.observer import Observer
from vm_agent.control.stop_signal import StopSignal
from vm_agent.control.vm import Vm
from vm_agent.http.cached_token import CachedToken
from vm_agent.program.exit_report import ExitReport
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.transfer.client import Author, Storage

FIRST, SECOND = 'ab' * 32, 'cd' * 32


class PeerSecretTest(unittest.TestCase):
    def setUp(self) -> None:
        answer: Dict[str, Any] = {'command': 'WAIT', 'reason': None}
        self.answer = answer

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers['Content-Length']))
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = HTTPServer(('127.0.0.1', 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.01}, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        config = read_config(golden('vm-config-container.json'))
        endpoints = replace(config.endpoints, heartbeat_url=f'http://127.0.0.1:{server.server_port}/')
        token = CachedToken(lambda: ('token', time.time() + 3_600))
        storage = Storage(endpoints.storage_url, token)
        directory = JobDirectory(storage, config.spec.job_dir, Author('digits', 1))
        vm = Vm(replace(config, endpoints=endpoints), Path(temporary.name), Instance('1', 'a'), 0, token, directory)
        stop_signal = StopSignal()
        self.logs = Logs(vm)
        self.heartbeats = Heartbeats(vm, token, stop_signal, self.logs)
        self.observer = Observer(vm, self.logs, stop_signal)

    def secret_after(self, *secrets: Optional[str]) -> str:
        """Delivers an exit for each secret, which is in the answer. Returns the secret that the agent has then."""
        for secret in secrets:
            self.answer.update(peerSecret=secret)
            self.assertTrue(self.heartbeats.deliver_exit(ExitReport('EXITED', 'It ended.', exit_code=0)))
        return self.heartbeats.peer_secret

    def test_is_that_of_the_newest_answer_that_has_one(self) -> None:
        self.heartbeats.start(1, self.observer)
        self.assertEqual(self.heartbeats.peer_secret, '')
        # Without one with STOP, and from a control plane of the version before.
        self.assertEqual([self.secret_after(one) for one in (FIRST, None, SECOND)], [FIRST, FIRST, SECOND])

    def test_is_masked_in_the_log(self) -> None:
        self.heartbeats.start(1, self.observer)
        self.secret_after(FIRST, SECOND, FIRST)
        self.assertEqual(self.logs.mask(f'{FIRST} {SECOND}'), '*** ***')


if __name__ == '__main__':
    unittest.main()
