import json
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import List
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.http.cached_token import CachedToken  # noqa: E402
from vm_agent.program.exit_report import ReplicaEnded  # noqa: E402
from vm_agent.setup.output_access import check_outputs  # noqa: E402
from vm_agent.storage.transfer.client import Storage  # noqa: E402

ACCOUNT = 'vm@project.iam.gserviceaccount.com'


class Buckets(BaseHTTPRequestHandler):
    """
    The account may write to the bucket `mine`, only read `theirs` but for the folder `team`, and is not told about others.
    """

    asked: List[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        bucket = self.path.split('/')[4]
        body = json.dumps({'permissions': ['storage.objects.create']} if bucket == 'mine' else {}).encode()
        self.send_response(200 if bucket in ('mine', 'theirs') else 403)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """Begins a resumable upload, which Cloud Storage rejects without the right to create this very object."""
        url = urlsplit(self.path)
        is_allowed = parse_qs(url.query)['name'][0].startswith('team/')
        self.asked.append(f'POST {url.path}')
        self.send_response(200 if is_allowed else 403)
        if is_allowed:
            self.send_header('Location', f'http://{self.headers["Host"]}/session')
        self.send_header('Content-Length', '0')
        self.end_headers()

    def do_DELETE(self) -> None:
        self.asked.append(f'DELETE {self.path}')
        self.send_response(499)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


class OutputAccessTest(unittest.TestCase):
    def setUp(self) -> None:
        Buckets.asked.clear()
        server = ThreadingHTTPServer(('127.0.0.1', 0), Buckets)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        token = CachedToken(lambda: ('token', 3_600.0))
        self.storage = Storage(f'http://127.0.0.1:{server.server_address[1]}', token)
        self.addCleanup(self.storage.close)

    def problem(self, path: str, has_mount: bool = True) -> str:
        """Returns why the job is refused; empty if it is not."""
        try:
            check_outputs([('--output-dir', path)], 'gs://jobs/a', self.storage, lambda: ACCOUNT, has_mount)
        except ReplicaEnded as ended:
            self.assertEqual(ended.report.reason, 'JOB_DIR_UNWRITABLE')
            return ended.report.message
        return ''

    def test_accepts_the_job_directory_without_a_request(self) -> None:
        for path in ('gs://jobs/a/x', '/gcs/jobs/a', '/gcs/jobs/a/'):
            self.assertEqual(self.problem(path, has_mount=False), '')
        self.assertEqual(Buckets.asked, [])

    def test_accepts_a_bucket_that_the_account_may_write_and_one_that_cannot_be_asked(self) -> None:
        for path in ('gs://mine/out', '/gcs/mine/out', 'gs://secretive/out'):
            self.assertEqual(self.problem(path), '')
        self.assertEqual(Buckets.asked[0], '/storage/v1/b/mine/iam/testPermissions?permissions=storage.objects.create')

    def test_names_argument_path_account_and_role_if_the_account_may_only_read(self) -> None:
        for path in ('gs://theirs/out', '/gcs/theirs/out'):
            message = self.problem(path)
            for part in ('--output-dir', path, ACCOUNT, 'storage.objects.create', 'roles/storage.objectUser'):
                self.assertIn(part, message)

    def test_accepts_a_folder_that_the_account_may_write_in_a_bucket_that_it_may_not(self) -> None:
        for path in ('gs://theirs/team/out', '/gcs/theirs/team/', 'gs://theirs/team'):
            Buckets.asked.clear()
            self.assertEqual(self.problem(path), '')
            self.assertEqual(Buckets.asked[1:], ['POST /upload/storage/v1/b/theirs/o', 'DELETE /session'])

    def test_says_what_to_write_to_where_only_the_job_directory_is_writable_by_path(self) -> None:
        message = self.problem('/gcs/mine/out', has_mount=False)
        self.assertIn('/gcs/jobs/a', message)
        self.assertIn('gs://mine/out', message)
        self.assertEqual(self.problem('gs://mine/out', has_mount=False), '')


if __name__ == '__main__':
    unittest.main()
