import http.client
import json
import math
import multiprocessing
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.logs.mask import Mask
from vm_agent.tracking.server import BODY_BYTES_MAX, CONNECTION_COUNT_MAX
from vm_agent.tracking.tracking import DOCUMENT, Tracking

API = '/api/2.0/mlflow'
ARTIFACTS = '/api/2.0/mlflow-artifacts/artifacts'
RECORDINGS = Path(__file__).resolve().parent / 'mlflow'
RUN_ID_CHARS = 32


class Client:
    """Sends requests as MLflow's client does, on one connection."""

    def __init__(self, url: str) -> None:
        self.address = url[len('http://') :]
        self._connection = http.client.HTTPConnection(self.address, timeout=20)

    def send(
        self, method: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None
    ) -> Tuple[int, Any]:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        self._connection.request(method, path, data, dict(headers or {}))
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text[:1] == b'{' else text

    def close(self) -> None:
        self._connection.close()

    def post(self, name: str, body: Mapping[str, Any]) -> Any:
        status, answer = self.send('POST', f'{API}/{name}', body)
        if status != 200:
            raise AssertionError(f'{name}: {status} {answer}')
        return answer

    def start_run(self, name: str, parent: Optional[str] = None) -> str:
        tags = [] if parent is None else [{'key': 'mlflow.parentRunId', 'value': parent}]
        answer = self.post('runs/create', {'experiment_id': '1', 'run_name': name, 'start_time': 1, 'tags': tags})
        return str(answer['run']['info']['run_id'])

    def log(self, run_id: str, key: str, value: Any, step: int = 0) -> None:
        self.post('runs/log-metric', {'run_id': run_id, 'key': key, 'value': value, 'timestamp': 1_000, 'step': step})


def log_from_a_process(url: str, run_id: str, number: int) -> None:
    client = Client(url)
    for step in range(1, 21):
        client.log(run_id, f'rank{number}', float(step), step)
    client.close()


class TrackingTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        (self.home / 'output').mkdir()
        self.messages: List[str] = []
        self.tracking = self.start()
        self.client = self.connect()

    def start(self, mask: Optional[Mask] = None) -> Tracking:
        tracking = Tracking(self.home, 'digits', lambda message, severity: self.messages.append(message), mask)
        tracking.start()
        self.addCleanup(tracking.close)
        return tracking

    def url(self) -> str:
        return self.tracking.add_variables({}, {})['MLFLOW_TRACKING_URI']

    def connect(self) -> Client:
        client = Client(self.url())
        self.addCleanup(client.close)
        return client

    def series(self) -> List[Tuple[str, float, Optional[float]]]:
        return [(sample.series, sample.value, sample.step) for sample in self.tracking.read(False)]

    def document(self) -> Dict[str, Any]:
        self.tracking.read(True)
        body: Dict[str, Any] = json.loads((self.home / 'output' / DOCUMENT).read_text())
        return body


class MetricsTest(TrackingTest):
    def test_logged_metrics_are_samples_with_their_steps(self) -> None:
        run_id = self.client.start_run('first')
        self.client.log(run_id, 'loss', 0.5, 10)
        self.client.post('runs/log-batch', {'run_id': run_id, 'metrics': [{'key': 'acc', 'value': 0.9, 'step': 10}]})
        self.assertEqual(self.series(), [('loss', 0.5, 10), ('acc', 0.9, 10)])
        self.assertEqual(self.tracking.step, 10)
        self.assertEqual(self.series(), [])

    def test_values_that_were_logged_without_a_step_are_counted(self) -> None:
        run_id = self.client.start_run('first')
        for value in (3.0, 2.0, 1.0):
            self.client.log(run_id, 'loss', value)
        self.assertEqual(self.series(), [('loss', 3.0, 0), ('loss', 2.0, 1), ('loss', 1.0, 2)])

    def test_metrics_of_nested_and_further_runs_do_not_mix_with_those_of_the_first(self) -> None:
        main = self.client.start_run('main')
        child = self.client.start_run('fold 1', parent=main)
        other = self.client.start_run('fold 1', parent=main)
        for run_id in (main, child, other):
            self.client.log(run_id, 'loss', 1.0, 5)
        self.assertEqual([name for name, _, _ in self.series()], ['loss', 'fold-1/loss', 'fold-1-2/loss'])

    def test_values_that_are_not_finite_arrive_and_are_returned_as_text(self) -> None:
        run_id = self.client.start_run('first')
        for key, value in (('a', 'NaN'), ('b', 'Infinity'), ('c', float('-inf'))):
            self.client.log(run_id, key, value, 1)
        values = [value for _, value, _ in self.series()]
        self.assertTrue(math.isnan(values[0]))
        self.assertEqual(values[1:], [math.inf, -math.inf])
        _, answer = self.client.send('GET', f'{API}/runs/get?run_id={run_id}')
        self.assertEqual([one['value'] for one in answer['run']['data']['metrics']], ['NaN', 'Infinity', '-Infinity'])

    def test_10_000_names_are_bounded_with_a_warning_and_without_an_error(self) -> None:
        run_id = self.client.start_run('first')
        for start in range(0, 10_000, 1_000):
            metrics = [{'key': f'm{start + index}', 'value': 1.0, 'step': 1} for index in range(1_000)]
            self.client.post('runs/log-batch', {'run_id': run_id, 'metrics': metrics})
        self.assertEqual(len(self.series()), 1_000)
        self.assertEqual(len([one for one in self.messages if 'too many metrics' in one]), 1)

    def test_16_processes_can_log_at_the_same_time(self) -> None:
        run_id = self.client.start_run('first')
        context = multiprocessing.get_context('spawn')
        processes = [context.Process(target=log_from_a_process, args=(self.url(), run_id, one)) for one in range(16)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(60)
        self.assertEqual([process.exitcode for process in processes], [0] * 16)
        self.assertEqual(len(self.series()), 16 * 20)

    def test_more_connections_than_are_served_at_once_wait_for_their_turn(self) -> None:
        idle = [self.connect() for _ in range(CONNECTION_COUNT_MAX + 40)]
        for client in idle:
            # Every connection stays open as long as the server allows.
            self.assertEqual(client.send('GET', '/health')[0], 200)

    def test_a_value_is_logged_in_a_few_milliseconds(self) -> None:
        run_id = self.client.start_run('first')
        began_at = time.monotonic()
        for step in range(500):
            self.client.log(run_id, 'loss', 1.0, step)
        # 500 requests wait for each other; with the delay of TCP's acknowledgements they would take 20 s.
        self.assertLess(time.monotonic() - began_at, 10)


class RunsTest(TrackingTest):
    def test_params_tags_and_state_are_returned_and_written_to_the_job_directory(self) -> None:
        run_id = self.client.start_run('first')
        self.client.post('runs/log-parameter', {'run_id': run_id, 'key': 'lr', 'value': '0.1'})
        self.client.post('runs/set-tag', {'run_id': run_id, 'key': 'team', 'value': 'vision'})
        self.client.post('runs/update', {'run_id': run_id, 'status': 'FINISHED', 'end_time': 2})
        _, answer = self.client.send('GET', f'{API}/runs/get?run_id={run_id}')
        self.assertEqual(answer['run']['info']['status'], 'FINISHED')
        self.assertEqual(answer['run']['data']['params'], [{'key': 'lr', 'value': '0.1'}])
        [run] = self.document()['runs']
        self.assertEqual((run['name'], run['params'], run['tags']['team']), ('first', {'lr': '0.1'}, 'vision'))

    def test_secrets_in_parameters_are_masked_in_the_job_directory(self) -> None:
        mask = Mask()
        mask.add('s3cr3t-value')
        self.tracking = self.start(mask)
        client = self.connect()
        client.post('runs/log-parameter', {'run_id': client.start_run('a'), 'key': 'k', 'value': 'x s3cr3t-value'})
        self.assertNotIn('s3cr3t-value', json.dumps(self.document()))

    def test_the_next_attempt_knows_the_runs_and_can_go_on_with_one(self) -> None:
        run_id = self.client.start_run('first')
        self.client.post('runs/log-parameter', {'run_id': run_id, 'key': 'lr', 'value': '0.1'})
        self.client.log(run_id, 'loss', 0.5, 7)
        self.document()
        self.tracking = self.start()
        client = self.connect()
        _, answer = client.send('GET', f'{API}/runs/get?run_id={run_id}')
        self.assertEqual(answer['run']['info']['status'], 'KILLED')
        self.assertEqual(answer['run']['data']['metrics'][0]['value'], 0.5)
        client.post('runs/update', {'run_id': run_id, 'status': 'RUNNING'})
        client.log(run_id, 'loss', 0.4, 8)
        client.log(client.start_run('second'), 'loss', 9.0, 1)
        self.assertEqual([name for name, _, _ in self.series()], ['loss', 'second/loss'])

    def test_a_document_that_a_program_has_damaged_is_reported_and_ignored(self) -> None:
        for text in ('{', '[]', '{"runs": [{"runId": 1}], "experiments": []}', '{"runs": 5, "experiments": 5}'):
            (self.home / 'output' / DOCUMENT).write_text(text)
            self.tracking = self.start()
            self.assertEqual(self.connect().send('GET', '/health')[0], 200)
        self.assertEqual(len(self.messages), 4)

    def test_runs_are_found_by_filter_and_order(self) -> None:
        for number in range(3):
            run_id = self.client.start_run(f'run{number}')
            self.client.log(run_id, 'loss', float(number), 1)
            self.client.post('runs/set-tag', {'run_id': run_id, 'key': 'parity', 'value': str(number % 2)})

        def search(filter_text: str, *order: str) -> List[str]:
            body = {'experiment_ids': ['1'], 'filter': filter_text, 'order_by': list(order)}
            runs = self.client.post('runs/search', body).get('runs', [])
            return [run['info']['run_name'] for run in runs]

        self.assertEqual(search("tags.parity = '0'", 'metrics.loss DESC'), ['run2', 'run0'])
        self.assertEqual(search("metrics.loss >= 1 and tags.parity = '1'"), ['run1'])
        self.assertEqual(search("attributes.run_name LIKE 'run%'", 'metrics.`loss` ASC'), ['run0', 'run1', 'run2'])
        status, answer = self.client.send('POST', f'{API}/runs/search', {'experiment_ids': ['1'], 'filter': 'a b c'})
        self.assertEqual((status, answer['error_code']), (400, 'INVALID_PARAMETER_VALUE'))

    def test_a_filter_with_many_wildcards_is_matched_at_once(self) -> None:
        run_id = self.client.start_run('a' * 4_000)
        began_at = time.monotonic()
        body = {'experiment_ids': ['1'], 'filter': f"attributes.run_name LIKE '{'a%' * 1_000}b'"}
        self.assertEqual(self.client.post('runs/search', body).get('runs'), [])
        self.assertLess(time.monotonic() - began_at, 2)
        self.assertEqual(len(run_id), RUN_ID_CHARS)


class ProgramVariablesTest(TrackingTest):
    def test_the_job_is_the_default_experiment(self) -> None:
        variables = self.tracking.add_variables({'A': 'b'}, {})
        self.assertEqual((variables['A'], variables['MLFLOW_EXPERIMENT_NAME']), ('b', 'digits'))
        _, answer = self.client.send('GET', f'{API}/experiments/get-by-name?experiment_name=digits')
        self.assertEqual(answer['experiment']['experiment_id'], '1')

    def test_a_job_with_a_tracking_server_of_its_own_keeps_it(self) -> None:
        own = {'MLFLOW_TRACKING_URI': 'https://mlflow.example.com'}
        self.assertEqual(self.tracking.add_variables(own, own), own)

    def test_an_experiment_that_the_job_names_is_kept(self) -> None:
        own = {'MLFLOW_EXPERIMENT_NAME': 'mine'}
        self.assertEqual(self.tracking.add_variables(own, own)['MLFLOW_EXPERIMENT_NAME'], 'mine')

    def test_a_proxy_of_the_program_is_not_used_for_the_vm_itself(self) -> None:
        environment = {'http_proxy': 'http://proxy:3128', 'NO_PROXY': 'metadata.google.internal'}
        variables = self.tracking.add_variables(environment, {})
        self.assertEqual(variables['no_proxy'], 'metadata.google.internal,127.0.0.1')


class ArtifactsTest(TrackingTest):
    def test_an_artifact_is_a_file_below_the_output_directory(self) -> None:
        run_id = self.client.start_run('first')
        self.assertEqual(self.client.send('PUT', f'{ARTIFACTS}/{run_id}/model/weights.bin', b'\x00\xff')[0], 200)
        path = self.home / 'output' / 'mlflow-artifacts' / run_id / 'model' / 'weights.bin'
        self.assertEqual(path.read_bytes(), b'\x00\xff')
        self.assertEqual(self.client.send('GET', f'{ARTIFACTS}/{run_id}/model/weights.bin')[1], b'\x00\xff')
        _, answer = self.client.send('GET', f'{ARTIFACTS}?path={run_id}/model')
        self.assertEqual(answer['files'], [{'path': 'weights.bin', 'is_dir': False, 'file_size': 2}])
        _, listed = self.client.send('GET', f'{API}/artifacts/list?run_id={run_id}')
        self.assertEqual(listed['files'], [{'path': 'model', 'is_dir': True}])

    def test_paths_that_lead_out_are_refused(self) -> None:
        (self.home / 'output' / 'mlflow-artifacts').mkdir()
        (self.home / 'output' / 'mlflow-artifacts' / 'link').symlink_to(self.home)
        for name in ('../x', '%2e%2e/x', 'a/../../x', '..%2Fx', '/etc/passwd/..', 'link/x', 'a//b', 'a%00b', 'a%5Cb'):
            with self.subTest(name):
                status, answer = self.client.send('PUT', f'{ARTIFACTS}/{name}', b'x')
                self.assertEqual((status, answer['error_code']), (400, 'INVALID_PARAMETER_VALUE'))
        self.assertEqual(sorted(os.listdir(self.home)), ['mlflow', 'output'])
        self.assertEqual(os.listdir(self.home / 'mlflow'), [])
        self.assertEqual(os.listdir(self.home / 'output' / 'mlflow-artifacts'), ['link'])

    def test_a_program_cannot_lead_the_agent_out_of_the_job_directory_by_a_link(self) -> None:
        # A program in a container cannot reach these files itself; the agent could.
        outside = self.home / 'outside'
        (outside / 'folder').mkdir(parents=True)
        (outside / 'private').write_text('private')
        (self.home / 'output' / 'mlflow-artifacts').symlink_to(outside)
        self.assertEqual(self.client.send('PUT', f'{ARTIFACTS}/folder/planted', b'x')[0], 400)
        self.assertEqual(self.client.send('GET', f'{ARTIFACTS}/private')[0], 404)
        self.assertEqual(self.client.send('GET', f'{ARTIFACTS}?path=folder')[1], {'files': []})
        self.client.send('DELETE', f'{ARTIFACTS}/folder')
        self.client.send('DELETE', f'{ARTIFACTS}/private')
        self.assertEqual(sorted(os.listdir(outside)), ['folder', 'private'])
        self.assertEqual(os.listdir(outside / 'folder'), [])

    def test_a_named_pipe_in_the_place_of_an_artifact_does_not_block_a_request(self) -> None:
        (self.home / 'output' / 'mlflow-artifacts').mkdir()
        os.mkfifo(self.home / 'output' / 'mlflow-artifacts' / 'pipe')
        self.assertEqual(self.client.send('GET', f'{ARTIFACTS}/pipe')[0], 404)

    def test_a_folder_of_artifacts_can_be_deleted(self) -> None:
        self.client.send('PUT', f'{ARTIFACTS}/run/model/weights.bin', b'x')
        self.assertEqual(self.client.send('DELETE', f'{ARTIFACTS}/run/model')[0], 200)
        self.assertEqual(self.client.send('DELETE', f'{ARTIFACTS}/run/model')[0], 200)
        self.assertEqual(os.listdir(self.home / 'output' / 'mlflow-artifacts' / 'run'), [])

    def test_an_artifact_that_was_cut_off_leaves_no_file(self) -> None:
        client = self.connect()
        client._connection.putrequest('PUT', f'{ARTIFACTS}/run/a.bin')
        client._connection.putheader('Content-Length', '100')
        client._connection.endheaders(b'only this')
        client.close()
        # A second request shows that the server goes on.
        self.assertEqual(self.client.send('GET', '/health')[0], 200)
        self.assertFalse((self.home / 'output' / 'mlflow-artifacts').exists())

    def test_an_artifact_that_exceeds_the_disk_is_refused_before_it_is_sent(self) -> None:
        client = self.connect()
        client._connection.putrequest('PUT', f'{ARTIFACTS}/run/a.bin')
        client._connection.putheader('Content-Length', str(10**12))
        client._connection.endheaders(b'')
        client._connection.sock.shutdown(1)
        response = client._connection.getresponse()
        self.assertEqual(response.status, 413)
        self.assertIn('the disk of the VM has', json.loads(response.read())['message'])


class BadRequestsTest(TrackingTest):
    def test_no_answer_makes_the_client_repeat_a_request_for_minutes(self) -> None:
        requests: List[Tuple[str, str, Any]] = [
            ('POST', f'{API}/runs/log-batch', b'{'),
            ('POST', f'{API}/runs/log-batch', b'[' * 100_000),
            ('POST', f'{API}/runs/log-batch', b'"x"'),
            ('POST', f'{API}/runs/log-batch', {'run_id': 'x' * 1_000}),
            ('POST', f'{API}/runs/create', {'tags': 'x', 'start_time': 'NaN'}),
            ('POST', f'{API}/runs/create', {'tags': [None], 'experiment_id': {}}),
            ('POST', f'{API}/runs/search', {'experiment_ids': ['1'], 'page_token': '-1'}),
            ('POST', f'{API}/traces', {}),
            ('POST', '/api/3.0/mlflow/traces', {}),
            ('GET', f'{API}/runs/get?run_id=%00', None),
            ('GET', f'{API}/metrics/get-history?' + '&'.join(['a=b'] * 1_000), None),
            ('DELETE', f'{API}/runs/get', None),
            ('PUT', '/' + 'x' * 5_000, b''),
        ]
        for method, path, body in requests:
            with self.subTest(f'{method} {path[:60]}'):
                status, answer = self.connect().send(method, path, body)
                self.assertIn(status, (400, 404))
                self.assertTrue(answer['error_code'] and answer['message'])
        self.assertEqual(self.messages, [], 'no request is a defect of the server')

    def test_an_unknown_endpoint_has_the_code_that_the_client_tolerates(self) -> None:
        status, answer = self.client.send('GET', f'{API}/server-features')
        self.assertEqual((status, answer['error_code']), (404, 'ENDPOINT_NOT_FOUND'))

    def test_a_registration_of_a_model_is_refused_with_what_to_do(self) -> None:
        status, answer = self.client.send('POST', f'{API}/registered-models/create', b'{"name": "best"}')
        self.assertEqual((status, answer['error_code']), (404, 'ENDPOINT_NOT_FOUND'))
        self.assertIn('leave out registered_model_name', answer['message'])

    def test_a_body_of_10_mb_is_refused_with_its_size(self) -> None:
        status, answer = self.client.send('POST', f'{API}/runs/log-batch', b' ' * 10_000_000)
        self.assertEqual(status, 413)
        self.assertIn(f'10000000 bytes; the most is {BODY_BYTES_MAX}', answer['message'])

    def test_web_pages_are_refused(self) -> None:
        port = self.url().rpartition(':')[2]
        for headers in ({'Host': f'evil.example:{port}'}, {'Origin': 'https://evil.example'}):
            with self.subTest(headers):
                self.assertEqual(self.connect().send('GET', f'{API}/experiments/search', None, headers)[0], 403)


class RecordedClientsTest(TrackingTest):
    """Requests that MLflow's own client has sent (tests/mlflow/README.md), sent again with the ids of this server."""

    def replay(self, name: str) -> None:
        ids: Dict[str, str] = {}
        for line in (RECORDINGS / name).read_text('utf-8').splitlines():
            recorded = json.loads(line)
            text = json.dumps(recorded.get('body'))
            path = recorded['path']
            for old, new in ids.items():
                path, text = path.replace(old, new), text.replace(old, new)
            body = json.loads(text)
            data = b'artifact' if recorded['method'] == 'PUT' else body
            status, answer = self.client.send(recorded['method'], path, data)
            self.assertEqual(status, recorded['status'], f'{path} {answer}')
            if 'id' in recorded:
                found = answer['run']['info']['run_id'] if 'run' in answer else answer['model']['info']['model_id']
                ids[recorded['id']] = found

    def test_mlflow_3_logs_metrics_params_tags_artifacts_and_a_model(self) -> None:
        self.replay('mlflow-3.6.jsonl')
        names = {name for name, _, _ in self.series()}
        self.assertTrue({'loss', 'acc', 'nan', 'child/loss'} <= names, names)

    def test_mlflow_2_logs_metrics_params_tags_artifacts_and_a_model(self) -> None:
        self.replay('mlflow-2.17.jsonl')
        names = {name for name, _, _ in self.series()}
        self.assertTrue({'loss', 'acc', 'nan', 'child/loss'} <= names, names)


if __name__ == '__main__':
    unittest.main()
