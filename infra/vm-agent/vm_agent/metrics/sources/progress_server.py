"""
The server to which the KubeflowCallback of Hugging Face Transformers reports progress. The callback is active in every
program that has the variables (github.com/kubeflow/trainer, KEP-2779; transformers, integrations/integration_utils.py).
"""

import hmac
import json
import math
import secrets
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Dict, List

from vm_agent.metrics.samples.records import Sample
from vm_agent.metrics.sources.source import MetricSource

TOKEN_FILE = 'progress-token'
BODY_BYTES_MAX = 65_536
REQUEST_SECONDS_MAX = 5.0


class ProgressServer(MetricSource):
    """Takes the step and the number of steps; the metrics of the callback are also in its event files and its log."""

    def start(self, folder: Path) -> Dict[str, str]:
        """Serves this machine until the agent ends. Returns the variable that activates the callback."""
        token = secrets.token_hex(16)
        # A program may have left links in their places before a reboot.
        if folder.is_symlink():
            folder.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / TOKEN_FILE).unlink(missing_ok=True)
        with (folder / TOKEN_FILE).open('x') as file:
            file.write(token)
        take = self.take

        class Handler(BaseHTTPRequestHandler):
            timeout = REQUEST_SECONDS_MAX

            def do_POST(self) -> None:
                given = self.headers.get('Authorization', '').encode('latin-1')
                is_own = hmac.compare_digest(given, f'Bearer {token}'.encode())
                if is_own:
                    size = int(self.headers.get('Content-Length', 0))
                    take(self.rfile.read(max(0, min(size, BODY_BYTES_MAX))))
                self.send_response(200 if is_own else 401)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = HTTPServer(('127.0.0.1', 0), Handler)
        server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
        threading.Thread(target=server.serve_forever, name='progress server', daemon=True).start()
        return {'KUBEFLOW_TRAINER_SERVER_URL': f'http://127.0.0.1:{server.server_port}'}

    def take(self, body: bytes) -> None:
        try:
            status = json.loads(body)['trainerStatus']
            values = {one['name']: float(one['value']) for one in status.get('metrics', ())}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            return
        known = {name: value for name, value in values.items() if math.isfinite(value)}
        self.steps_max = known.get('total_steps', self.steps_max)
        self.step = self.steps_max if status.get('progressPercentage') == 100 else known.get('current_step', self.step)

    def read(self, is_last: bool = False) -> List[Sample]:
        return []
