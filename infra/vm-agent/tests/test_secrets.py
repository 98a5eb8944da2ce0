"""Secrets reach the program's environment only."""

import base64
import gzip
import json
import sys
import tempfile
import threading
import unittest
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from vm_agent.control.config import parse_config
from vm_agent.http.cached_token import CachedToken
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.logs.full_log import FullLog
from vm_agent.logs.log_shipper import LogSettings, LogShipper
from vm_agent.logs.mask import Mask
from vm_agent.logs.output_lines import LINE_CHARS_MAX, PENDING_BYTES_MAX, BlockSplitter, LineSplitter, OutputTail
from vm_agent.metrics.program_metrics import MetricPaths, ProgramMetrics
from vm_agent.program.child_process import ChildProcess, Command
from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.setup.environment import ProgramPaths, program_environment
from vm_agent.setup.job_secrets import JobSecrets, SecretManager
from vm_agent.storage.transfer import crc32c

GOLDEN = HERE.parents[2] / 'shared' / 'protocol' / 'golden'
POLICY = RetryPolicy(tries_max=8, seconds_max=30.0)
VERSION = 'projects/p/secrets/hf-token/versions/latest'


def payload(data: bytes, **changes: object) -> str:
    content = {'data': base64.b64encode(data).decode(), 'dataCrc32c': str(crc32c.extend(0, data))}
    return json.dumps({'name': VERSION, 'payload': {**content, **changes}})


class MaskTest(unittest.TestCase):
    def setUp(self) -> None:
        self.mask = Mask()

    def test_masks_every_occurrence_of_a_value(self) -> None:
        self.mask.add('s3cr3t')
        self.assertEqual(self.mask('a s3cr3t, as3cr3tb, s3cr3t'), 'a ***, a***b, ***')

    def test_masks_the_lines_of_a_value_one_by_one(self) -> None:
        self.mask.add('-----BEGIN-----\r\nMIIEpAIB\n\n  x1y2\n-----END-----\n')
        self.assertEqual(
            [self.mask(line) for line in ('MIIEpAIB', ' x1y2', '-----END-----', 'END', '')],
            ['***', ' ***', '***', 'END', ''],
        )

    def test_masks_short_lines_if_they_are_encoded_into_one(self) -> None:
        self.mask.add('ab\ncd\nef\n')
        self.assertEqual(self.mask(json.dumps({'key': 'ab\ncd\nef\n'})), '{"key": "***\\n"}')

    def test_does_not_mask_values_that_are_too_short(self) -> None:
        self.mask.add('abc')
        self.mask.add('')
        self.assertEqual((self.mask('abcabc'), self.mask.bytes_max), ('abcabc', 0))
        self.mask.add('abcd')
        self.assertEqual(self.mask('abcabcd'), 'abc***')

    def test_masks_the_longer_of_two_values_with_the_same_prefix(self) -> None:
        self.mask.add('token')
        self.mask.add('token-long')
        self.assertEqual(self.mask('token-long token'), '*** ***')

    def test_masks_a_value_as_json_and_urls_encode_it(self) -> None:
        value = 'a"b\\c/ü d'
        self.mask.add(value)
        for encoded in (json.dumps(value), json.dumps(value, ensure_ascii=False), 'x=a%22b%5Cc%2F%C3%BC%20d'):
            self.assertIn('***', self.mask(encoded))
            self.assertNotIn('a', self.mask(encoded).replace('x=', ''))


class LineMaskTest(unittest.TestCase):
    def setUp(self) -> None:
        self.mask = Mask()
        self.mask.add('0123456789')

    def split(self, *chunks: bytes) -> list:
        blocks, lines = BlockSplitter(self.mask), LineSplitter()
        masked = [*(blocks.feed(chunk) for chunk in chunks), blocks.finish()]
        return [*(line for block in masked for line in lines.feed(block)), *lines.finish()]

    def test_masks_a_value_that_arrives_in_several_chunks(self) -> None:
        self.assertEqual(self.split(b'a 01234', b'56789 b\n0123', b'456789'), ['a *** b', '***'])

    def test_masks_a_value_where_a_long_line_is_split(self) -> None:
        for offset in range(-11, 2):
            line = b'x' * (LINE_CHARS_MAX + offset) + b'0123456789' + b'y' * 30_000
            for chunks in ((line + b'\n',), (line,), tuple(line[at : at + 997] for at in range(0, len(line), 997))):
                text = ''.join(self.split(*chunks))
                self.assertEqual(text.replace('x', '').replace('y', ''), '***')
                self.assertEqual(text.count('y'), 30_000)

    def test_masks_a_value_where_a_line_that_does_not_end_is_forwarded(self) -> None:
        for offset in range(-11, 2):
            data = b'x' * (PENDING_BYTES_MAX + offset) + b'0123456789' + b'y' * 300_000
            size = 65_536 + offset
            text = ''.join(self.split(*(data[at : at + size] for at in range(0, len(data), size))))
            self.assertEqual(text.replace('x', '').replace('y', ''), '***')

    def test_masks_the_evidence_and_the_complete_log_like_the_lines(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            code = 'import sys; print("a 01234", end="", flush=True); print("56789 b"); sys.exit("0123456789")'
            full_log, tail = FullLog(Path(folder), 'log', 1_000_000), OutputTail()
            command = Command([sys.executable, '-c', code], {}, Path(folder), f'DROPFORGE_VM={folder}'.encode(), self.mask)

            def forward(stream: str, block: bytes) -> None:
                tail.add(block)
                full_log.write(stream, block)

            ended = threading.Event()
            child = ChildProcess(command, forward, ended.set)
            ended.wait(30)
            child.clean_up()
            full_log.finish()
            texts = [gzip.decompress(part.read_bytes()) for part in sorted(Path(folder).glob('*.gz'))]
        self.assertEqual(sorted(texts), [b'***\n', b'a *** b\n'])
        self.assertEqual(sorted(tail.lines()), ['***', 'a *** b'])

    def test_masks_a_value_in_the_agents_own_log_lines(self) -> None:
        sent = []
        shipper = LogShipper(LogSettings('i', 60.0, self.mask), sent.extend)
        shipper.start()
        shipper.log('cannot use 0123456789')
        shipper.close(5.0)
        self.assertEqual([line.text for line in sent], ['cannot use ***'])

    def test_masks_a_value_in_the_names_of_metrics(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            paths = MetricPaths(Path(folder))
            paths.metrics_file.parent.mkdir()
            paths.metrics_file.write_text('{"0123456789": 1, "loss": 2}\n')
            metrics = ProgramMetrics(paths, self.mask)
            metrics.start(0.0, False, 60.0)
            self.assertEqual(metrics.read().metrics, {'***': 1, 'loss': 2})


class ManagerTest(unittest.TestCase):
    """Against a server that sends its responses in order, and repeats the last one."""

    def setUp(self) -> None:
        self.responses = []
        self.received = []
        test = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                test.received.append((self.path, self.headers['Authorization']))
                status, body = test.responses.pop(0) if len(test.responses) > 1 else test.responses[0]
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = HTTPServer(('127.0.0.1', 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.mask = Mask()
        token = CachedToken(lambda: ('t', 9e12))
        url = f'http://127.0.0.1:{self.server.server_port}'
        manager = SecretManager(url, token, lambda: 'vm@p.iam.gserviceaccount.com')
        self.secrets = JobSecrets(manager, {'HF_TOKEN': VERSION}, self.mask)

    def tearDown(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def read_and_fail(self):
        with self.assertRaises(ReplicaEnded) as caught:
            self.secrets.read(POLICY)
        return caught.exception.report

    def transient_error(self) -> str:
        with self.assertRaises(TransientError) as caught:
            self.secrets.read(RetryPolicy(tries_max=1, seconds_max=30.0))
        return str(caught.exception)

    def test_reads_a_value_with_the_vms_token_and_masks_it(self) -> None:
        self.responses = [(200, payload('hf_a1b2ü\n'.encode()))]
        self.assertEqual(self.secrets.read(POLICY), {'HF_TOKEN': 'hf_a1b2ü\n'})
        self.assertEqual(self.received, [(f'/v1/{VERSION}:access', 'Bearer t')])
        self.assertEqual(self.mask('hf_a1b2ü'), '***')

    def test_retries_transient_errors(self) -> None:
        valid = payload(b'value')
        damaged = payload(b'value', dataCrc32c='1')
        self.responses = [(503, ''), (429, ''), (401, ''), (200, damaged), (200, '{'), (200, valid)]
        self.assertEqual(self.secrets.read(POLICY), {'HF_TOKEN': 'value'})

    def test_ends_the_attempt_with_remedies_if_the_secret_is_rejected(self) -> None:
        for status in (400, 403, 404):
            self.responses, self.received = [(status, json.dumps({'error': {'message': 'Denied.'}}))], []
            report = self.read_and_fail()
            self.assertEqual((report.reason, len(self.received)), ('SECRET_UNAVAILABLE', 1))
            self.assertEqual(
                report.message,
                'Secret hf-token, version latest in project p, for HF_TOKEN cannot be read: '
                f'Secret Manager answered {status}: Denied.',
            )
            self.assertEqual(
                report.evidence[1:],
                (
                    'If it has no value: gcloud secrets versions add hf-token --project=p --data-file=-',
                    'If the VM may not read it: gcloud secrets add-iam-policy-binding hf-token --project=p '
                    '--member=serviceAccount:vm@p.iam.gserviceaccount.com --role=roles/secretmanager.secretAccessor',
                ),
            )

    def test_does_not_treat_an_outage_as_a_rejection(self) -> None:
        self.responses = [(503, 'busy')]
        self.assertIn('503', self.transient_error())
        self.assertEqual(len(self.received), 1)

    def test_rejects_a_value_that_no_environment_variable_can_hold(self) -> None:
        for data in (b'a\0b', b'\xff\xfe'):
            self.responses = [(200, payload(data))]
            self.assertIn('not text', self.read_and_fail().message)

    def test_an_error_message_contains_nothing_of_an_invalid_response(self) -> None:
        self.responses = [(200, '{"payload": {"data": "c2VjcmV0LXZhbHVl"')]
        self.assertNotIn('c2VjcmV0', self.transient_error())


class EnvironmentTest(unittest.TestCase):
    def setUp(self) -> None:
        self.config = parse_config((GOLDEN / 'vm-config.json').read_text('utf-8'))
        python = Path('/h/venv/bin/python')
        self.paths = ProgramPaths(python, Path('/h/output'), Path('/h/m'), Path('/h/t'), ('/h/sources/0',))

    def test_reads_the_golden_references(self) -> None:
        self.assertEqual(self.config.secrets, {'HF_TOKEN': 'projects/dropforge-local/secrets/hf-token/versions/3'})
        self.assertEqual(self.config.endpoints.secret_manager_url, 'http://127.0.0.1:8084')

    def test_expands_a_secret_in_other_variables(self) -> None:
        spec = replace(self.config.spec, environment={'URL': 'https://$(HF_TOKEN)@host'})
        environment = program_environment(spec, self.paths, {'HF_TOKEN': 'a1b2'})
        self.assertEqual((environment['HF_TOKEN'], environment['URL']), ('a1b2', 'https://a1b2@host'))


if __name__ == '__main__':
    unittest.main()
