"""Secrets reach the program's environment and nothing else."""

import base64
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

from vm_agent import crc32c
from vm_agent.config import parse_config
from vm_agent.environment import Places, program_environment, tool_environment
from vm_agent.exit_report import ReplicaEnded
from vm_agent.job_secrets import JobSecrets
from vm_agent.line_splitter import LINE_CHARS_MAX, LineSplitter
from vm_agent.log_shipper import LogPolicy, LogShipper
from vm_agent.mask import Mask
from vm_agent.progress import ProgressReader
from vm_agent.retry import PassingFault, Patience
from vm_agent.secret_manager import SecretManager
from vm_agent.tokens import CachedToken

GOLDEN = HERE.parents[2] / 'shared' / 'protocol' / 'golden'
PATIENCE = Patience(tries_max=8, seconds_max=30.0)
VERSION = 'projects/p/secrets/hf-token/versions/latest'


def payload(data: bytes, **changes: object) -> str:
    stated = {'data': base64.b64encode(data).decode(), 'dataCrc32c': str(crc32c.extend(0, data))}
    return json.dumps({'name': VERSION, 'payload': {**stated, **changes}})


class MaskTest(unittest.TestCase):
    def setUp(self) -> None:
        self.mask = Mask()

    def test_hides_a_value_wherever_it_stands(self) -> None:
        self.mask.hide('s3cr3t')
        self.assertEqual(self.mask('a s3cr3t, as3cr3tb, s3cr3t'), 'a ***, a***b, ***')

    def test_hides_several_lines_one_by_one(self) -> None:
        self.mask.hide('-----BEGIN-----\r\nMIIEpAIB\n\n  x1y2\n-----END-----\n')
        self.assertEqual(
            [self.mask(line) for line in ('MIIEpAIB', ' x1y2', '-----END-----', 'END', '')],
            ['***', ' ***', '***', 'END', ''],
        )

    def test_hides_short_lines_where_they_stand_in_one(self) -> None:
        self.mask.hide('ab\ncd\nef\n')
        self.assertEqual(self.mask(json.dumps({'key': 'ab\ncd\nef\n'})), '{"key": "***\\n"}')

    def test_leaves_what_is_too_short_to_be_one(self) -> None:
        self.mask.hide('abc')
        self.mask.hide('')
        self.assertEqual((self.mask('abcabc'), self.mask.chars_max), ('abcabc', 0))
        self.mask.hide('abcd')
        self.assertEqual(self.mask('abcabcd'), 'abc***')

    def test_hides_the_longer_of_two_that_begin_alike(self) -> None:
        self.mask.hide('token')
        self.mask.hide('token-long')
        self.assertEqual(self.mask('token-long token'), '*** ***')

    def test_knows_a_value_as_json_and_urls_write_it(self) -> None:
        value = 'a"b\\c/ü d'
        self.mask.hide(value)
        for written in (json.dumps(value), json.dumps(value, ensure_ascii=False), 'x=a%22b%5Cc%2F%C3%BC%20d'):
            self.assertIn('***', self.mask(written))
            self.assertNotIn('a', self.mask(written).replace('x=', ''))


class LineTest(unittest.TestCase):
    def setUp(self) -> None:
        self.mask = Mask()
        self.mask.hide('0123456789')

    def split(self, *chunks: bytes) -> list:
        splitter = LineSplitter(self.mask)
        lines = [line for chunk in chunks for line in splitter.feed(chunk)]
        return [*lines, *splitter.finish()]

    def test_hides_a_value_that_comes_in_pieces(self) -> None:
        self.assertEqual(self.split(b'a 01234', b'56789 b\n0123', b'456789'), ['a *** b', '***'])

    def test_hides_a_value_where_a_long_line_is_cut(self) -> None:
        for offset in range(-11, 2):
            line = b'x' * (LINE_CHARS_MAX + offset) + b'0123456789' + b'y' * 30_000
            for chunks in ((line + b'\n',), (line,), tuple(line[at : at + 997] for at in range(0, len(line), 997))):
                text = ''.join(self.split(*chunks))
                self.assertEqual(text.replace('x', '').replace('y', ''), '***')
                self.assertEqual(text.count('y'), 30_000)

    def test_hides_it_in_what_the_agent_says_itself(self) -> None:
        sent = []
        shipper = LogShipper(LogPolicy('i', 60.0, 1_000, self.mask), sent.extend)
        shipper.start()
        shipper.say('cannot use 0123456789')
        shipper.close(5.0)
        self.assertEqual([line.text for line in sent], ['cannot use ***'])

    def test_hides_it_in_the_names_of_metrics(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            metrics = Path(folder, 'metrics.jsonl')
            metrics.write_text('{"0123456789": 1, "loss": 2}\n')
            progress = ProgressReader(metrics, Path(folder, 'none'), self.mask).read()
            self.assertEqual(progress['metrics'], {'***': 1, 'loss': 2})


class ManagerTest(unittest.TestCase):
    """Against a real server that gives its answers one after another, the last one again and again."""

    def setUp(self) -> None:
        self.answers = []
        self.asked = []
        test = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                test.asked.append((self.path, self.headers['Authorization']))
                status, body = test.answers.pop(0) if len(test.answers) > 1 else test.answers[0]
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
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

    def failure(self):
        with self.assertRaises(ReplicaEnded) as caught:
            self.secrets.read(PATIENCE)
        return caught.exception.report

    def fault(self) -> str:
        with self.assertRaises(PassingFault) as caught:
            self.secrets.read(Patience(tries_max=1, seconds_max=30.0))
        return str(caught.exception)

    def test_reads_a_value_with_the_token_of_the_vm_and_hides_it(self) -> None:
        self.answers = [(200, payload('hf_a1b2ü\n'.encode()))]
        self.assertEqual(self.secrets.read(PATIENCE), {'HF_TOKEN': 'hf_a1b2ü\n'})
        self.assertEqual(self.asked, [(f'/v1/{VERSION}:access', 'Bearer t')])
        self.assertEqual(self.mask('hf_a1b2ü'), '***')

    def test_asks_again_when_a_fault_may_pass(self) -> None:
        whole = payload(b'value')
        damaged = payload(b'value', dataCrc32c='1')
        self.answers = [(503, ''), (429, ''), (401, ''), (200, damaged), (200, '{'), (200, whole)]
        self.assertEqual(self.secrets.read(PATIENCE), {'HF_TOKEN': 'value'})

    def test_ends_the_attempt_where_the_secret_is_refused_and_says_what_to_do(self) -> None:
        for status in (400, 403, 404):
            self.answers, self.asked = [(status, json.dumps({'error': {'message': 'Not so.'}}))], []
            report = self.failure()
            self.assertEqual((report.reason, len(self.asked)), ('SECRET_UNAVAILABLE', 1))
            self.assertEqual(
                report.message,
                'Secret hf-token, version latest in project p, for HF_TOKEN cannot be read: '
                f'Secret Manager answered {status}: Not so.',
            )
            self.assertEqual(
                report.evidence[1:],
                (
                    'If it has no value: gcloud secrets versions add hf-token --project=p --data-file=-',
                    'If the VM may not read it: gcloud secrets add-iam-policy-binding hf-token --project=p '
                    '--member=serviceAccount:vm@p.iam.gserviceaccount.com --role=roles/secretmanager.secretAccessor',
                ),
            )

    def test_takes_an_outage_for_no_refusal(self) -> None:
        self.answers = [(503, 'busy')]
        self.assertIn('503', self.fault())
        self.assertEqual(len(self.asked), 1)

    def test_refuses_what_no_variable_can_hold(self) -> None:
        for data in (b'a\0b', b'\xff\xfe'):
            self.answers = [(200, payload(data))]
            self.assertIn('no text', self.failure().message)

    def test_repeats_nothing_of_an_answer_that_it_cannot_read(self) -> None:
        self.answers = [(200, '{"payload": {"data": "c2VjcmV0LXZhbHVl"')]
        self.assertNotIn('c2VjcmV0', self.fault())


class EnvironmentTest(unittest.TestCase):
    def setUp(self) -> None:
        self.config = parse_config((GOLDEN / 'vm-config.json').read_text('utf-8'))
        python = Path('/h/venv/bin/python')
        self.places = Places(python, Path('/h/output'), Path('/h/m'), Path('/h/t'), ('/h/sources/0',))

    def test_reads_the_golden_references(self) -> None:
        self.assertEqual(self.config.secrets, {'HF_TOKEN': 'projects/dropforge-local/secrets/hf-token/versions/3'})
        self.assertEqual(self.config.endpoints.secret_manager_url, 'http://127.0.0.1:8084')

    def test_lets_other_variables_name_a_secret(self) -> None:
        config = replace(self.config, environment={'URL': 'https://$(HF_TOKEN)@host'})
        environment = program_environment(config, self.places, {'HF_TOKEN': 'a1b2'})
        self.assertEqual((environment['HF_TOKEN'], environment['URL']), ('a1b2', 'https://a1b2@host'))

    def test_sets_no_variable_of_its_own_that_a_secret_could_have(self) -> None:
        reserved = json.loads((GOLDEN / 'service-variables.json').read_text('utf-8'))
        tools = tool_environment({}, self.places, 'vm')
        for name in program_environment(replace(self.config, environment={}), self.places, tools):
            is_reserved = name in reserved['names'] or name.startswith(tuple(reserved['prefixes']))
            self.assertTrue(is_reserved, f'{name} must be in shared/protocol/service-variables.ts')


if __name__ == '__main__':
    unittest.main()
