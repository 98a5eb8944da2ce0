"""
The golden files of shared/protocol are shared with the TypeScript tests, so that the two implementations cannot drift.

The agent reads or produces every one of them, and uses every key in it: an unknown file, an unknown key and a missing
key each fail a test, and in the configuration they are errors.
"""

import json
import sys
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))

from golden_checks import GOLDEN, check_hardware_xids, check_series_part, golden
from vm_agent.control.config import Config, ConfigError, parse_config, read_config
from vm_agent.control.heartbeats import (
    ProgramEndTime,
    Reboot,
    Status,
    evaluate_answer,
    heartbeat_body,
    keep_seconds_of,
    peer_secret_of,
)
from vm_agent.control.stop_signal import Interruption
from vm_agent.health.finding import Finding
from vm_agent.metrics.samples.measurements import Measurements
from vm_agent.metrics.samples.progress import NonFinite, Progress
from vm_agent.program.exit_report import EXIT_REASONS, DecisiveFinding, ExitReport, parse_exit_report
from vm_agent.program.gpu_meter import GpuUsage
from vm_agent.program.usage import Usage
from vm_agent.setup.environment import ProgramPaths, program_environment, tool_environment

# Objects with keys of the user's choice, which the agent passes on as a whole.
OPEN_OBJECTS = ('spec.environment', 'secrets', 'spec.cluster', 'spec.trainingInput', 'health.actions')


def golden_config() -> Config:
    return parse_config((GOLDEN / 'vm-config.json').read_text('utf-8'))


class KeyRecorder(dict):
    """A JSON object that records which of its own keys were read."""

    def __init__(self, body: Dict[str, Any]) -> None:
        super().__init__(body)
        self._read: set = set()

    def get(self, key: str, default: Any = None) -> Any:
        self._read.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return super().__getitem__(key)

    def unread(self) -> List[str]:
        return [key for key in self if key not in self._read]


def objects_of(value: Any, path: Tuple[Any, ...] = ()) -> Iterator[Tuple[Any, ...]]:
    """Yields the path of every object in a configuration that has keys of its own."""
    if '.'.join(map(str, path)) in OPEN_OBJECTS:
        return
    if isinstance(value, dict):
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from objects_of(entry, (*path, key))


def object_at(body: Any, path: Tuple[Any, ...]) -> Dict[str, Any]:
    for key in path:
        body = body[key]
    return body


def running_heartbeat(config: Config, **changes: Any) -> Dict[str, Any]:
    gpu = GpuUsage(name='Tesla T4', busy_fraction=0.93, memory_bytes=9_000_000_000, memory_bytes_max=16_106_127_360)
    usage = Usage(
        cpu_fraction=0.48,
        memory_bytes=1_200_000_000,
        memory_bytes_max=16_000_000_000,
        disk_bytes=81_234,
        disk_bytes_max=105_000_000_000,
        gpus=(gpu,),
    )
    progress = Progress(step=3, steps_max=10, metrics={'loss': 0.31, 'accuracy': 0.91})
    return heartbeat_body(config, 7, Status('RUNNING', usage, progress, **changes))


def trial_heartbeat(config: Config) -> Dict[str, Any]:
    measurements = Measurements(['accuracy', 'loss'])
    measurements.add('accuracy', 0.88, (2, 41_250))
    measurements.add('loss', float('nan'), (2, 41_250))
    measurements.add('accuracy', 0.91, (3, 60_500))
    return running_heartbeat(config, measurements=measurements.batch())


def exited_heartbeat(config: Config) -> Dict[str, Any]:
    evidence = ('Traceback (most recent call last):', 'ValueError: x12 must not be 10')
    report = ExitReport('EXITED', 'The program ended with exit code 1.', exit_code=1, evidence=evidence)
    return heartbeat_body(config, 19, Status('EXITED', Usage(), Progress(), report))


def interrupted_heartbeat(config: Config) -> Dict[str, Any]:
    """In the second boot, while the output is being saved after a failure and a notice."""
    evidence = ('RuntimeError: Connection closed by peer [10.0.0.3]:33421',)
    report = ExitReport('PREEMPTED', 'Compute Engine is preempting the VM.', exit_code=1, evidence=evidence)
    status = Status(
        'UPLOADING',
        Usage(),
        Progress(),
        notice=Interruption('Compute Engine is preempting the VM.', True, None),
        program_end=ProgramEndTime(1_795_345_200.125, 2.5),
        pending_exit=report,
        reboot=Reboot(1, 61.5),
    )
    return heartbeat_body(config, 1_000_007, status)


def warning_heartbeat(config: Config) -> Dict[str, Any]:
    report = ExitReport('EXITED', 'The program ended with exit code 0.', exit_code=0, saved_nothing=True)
    non_finite = {'loss': NonFinite('NaN', 7), 'norm': NonFinite('Infinity', None)}
    progress = Progress(step=10, steps_max=10, metrics={'accuracy': 0.1}, non_finite=non_finite)
    return heartbeat_body(config, 23, Status('EXITED', Usage(), progress, parse_exit_report(report.to_json())))


def unhealthy_heartbeat(config: Config) -> Dict[str, Any]:
    stopped = Finding('NON_FINITE', 'The metric loss = NaN, in 3 reports in a row.', 'Clip.', 5.0, ('loss = NaN',))
    idle = Finding('GPU_IDLE', 'The GPU has been idle.', 'Use it.', 1.0, (), 2.5)
    decisive = DecisiveFinding(stopped.code, 'stop', stopped.remedy)
    report = ExitReport('UNHEALTHY', stopped.message, signal=15, evidence=stopped.evidence, health=decisive)
    health = [finding.to_json(1_763_700_000.0) for finding in (stopped, idle)]
    exit_report = parse_exit_report(report.to_json())
    return heartbeat_body(config, 24, Status('EXITED', Usage(), Progress(), exit_report, health=health))


def check_config(test: unittest.TestCase, name: str) -> None:
    """Without any one of its fields, and with an unknown one in any object, a configuration is an error that names it."""
    read_config(golden(name))
    for path in objects_of(golden(name)):
        for key in object_at(golden(name), path):
            body = golden(name)
            del object_at(body, path)[key]
            with test.subTest(f'{name} without {key}'), test.assertRaisesRegex(ConfigError, f'has no (.*\\.)?{key}: it'):
                read_config(body)
        body = golden(name)
        object_at(body, path)['zone'] = ''
        with test.subTest(f'{name} with {path}.zone'), test.assertRaisesRegex(ConfigError, r'unknown field (.*\.)?zone:'):
            read_config(body)


def check_answer(test: unittest.TestCase, name: str) -> None:
    body = golden(name)
    recorder = KeyRecorder(body)
    notice = evaluate_answer(recorder)
    test.assertEqual(keep_seconds_of(recorder), body.get('keepSeconds', 0))
    test.assertEqual(recorder.unread(), [], 'keys that the agent does not read')
    test.assertEqual((body['command'], notice and notice.reason), ('STOP', 'STOPPED'))
    test.assertEqual(body.get('isEarlyStop', False), notice is not None and notice.is_early_stop)
    test.assertIn(body['reason'], notice.message if notice else '')


def check_cluster_answer(test: unittest.TestCase, name: str) -> None:
    recorder = KeyRecorder(golden(name))
    test.assertIsNone(evaluate_answer(recorder))
    test.assertRegex(peer_secret_of(recorder), '^[0-9a-f]{64}$')
    # For people, with WAIT.
    test.assertEqual(recorder.unread(), ['reason'])


def check_service_variables(test: unittest.TestCase, name: str) -> None:
    """
    The reserved names are those that the agent sets for a member of a cluster, except for two that users may replace;
    every reserved prefix is in use.
    """
    reserved = golden(name)
    test.assertEqual(sorted(reserved), ['names', 'prefixes'])
    prefixes = tuple(reserved['prefixes'])
    cluster = {'chief': ('a:2222',), 'worker': ('b:2222',)}
    spec = replace(golden_config().spec, environment={}, cluster=cluster)
    paths = ProgramPaths(Path('/h/venv/bin/python'), Path('/h/output'), Path('/h/m'), Path('/h/t'), ('/h/sources/0',))
    variables = program_environment(spec, paths, tool_environment({}, paths, 'vm'))
    set_names = {variable for variable in variables if not variable.startswith(prefixes)}
    test.assertEqual(set_names, {*reserved['names'], 'PYTHONUNBUFFERED', 'MLFLOW_TRACKING_URI', 'KUBEFLOW_TRAINER_SERVER_TOKEN'})
    for prefix in prefixes:
        test.assertTrue(any(variable.startswith(prefix) for variable in variables), prefix)


def check_exit_reasons(test: unittest.TestCase, name: str) -> None:
    test.assertEqual(list(EXIT_REASONS), golden(name))
    with test.assertRaisesRegex(ValueError, 'GPU_LOST is not an exit reason'):
        ExitReport('GPU_LOST', 'The GPU is lost.')


def check_produced(produce: Callable[[Config], Dict[str, Any]]) -> Callable[[unittest.TestCase, str], None]:
    def check(test: unittest.TestCase, name: str) -> None:
        test.assertEqual(json.loads(json.dumps(produce(golden_config()))), golden(name))

    return check


CHECKS: Dict[str, Callable[[unittest.TestCase, str], None]] = {
    'exit-reasons.json': check_exit_reasons,
    'hardware-xids.json': check_hardware_xids,
    'heartbeat-answer.json': check_answer,
    'heartbeat-answer-cluster.json': check_cluster_answer,
    'heartbeat-answer-early-stop.json': check_answer,
    'heartbeat-answer-kept.json': check_answer,
    'heartbeat-exited.json': check_produced(exited_heartbeat),
    'heartbeat-interrupted.json': check_produced(interrupted_heartbeat),
    'heartbeat-running.json': check_produced(running_heartbeat),
    'heartbeat-trial.json': check_produced(trial_heartbeat),
    'heartbeat-unhealthy.json': check_produced(unhealthy_heartbeat),
    'heartbeat-warnings.json': check_produced(warning_heartbeat),
    'series-part.json': check_series_part,
    'service-variables.json': check_service_variables,
    'vm-config.json': check_config,
    'vm-config-container.json': check_config,
}


class GoldenFilesTest(unittest.TestCase):
    def test_every_golden_file_is_read_or_produced_by_the_agent(self) -> None:
        names = {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob('*.json')}
        self.assertEqual(names, set(CHECKS))
        for name, check in CHECKS.items():
            with self.subTest(name):
                check(self, name)


class ConfigTest(unittest.TestCase):
    def test_reads_the_golden_configuration(self) -> None:
        config = golden_config()
        spec = config.spec
        self.assertEqual((spec.job_id, spec.attempt, spec.name), ('digits_20261121', 2, 'master-0'))
        self.assertEqual(config.packages[0].file_name, 'digits-0.1.tar.gz')
        self.assertEqual((config.limits.control_plane_timeout_seconds, config.limits.setup_seconds), (600, 7_080))
        self.assertEqual((config.replica_count, config.peers), (1, None))
        cluster = read_config(golden('vm-config-container.json')).peers
        assert cluster is not None
        self.assertEqual(cluster.replicas, ('master-0', 'worker-0'))
        self.assertTrue(cluster.address.endswith('-a2-master-0:2221'))
        self.assertEqual(config.limits.upload_seconds, 1_800)
        self.assertEqual(config.limits.preemption_notice_seconds, 120)

    def test_names_the_field_that_is_invalid(self) -> None:
        for path, name in ((('limits',), 'controlPlaneTimeoutSeconds'), (('spec',), 'module'), (('spec',), 'jobDir')):
            changed = golden('vm-config.json')
            holder = changed
            for step in path:
                holder = holder[step]
            holder[name] = None
            with self.assertRaisesRegex(ConfigError, name):
                parse_config(json.dumps(changed))
        with self.assertRaisesRegex(ConfigError, 'not valid JSON'):
            parse_config('{')

    def test_stops_only_on_the_command_stop(self) -> None:
        answer = golden('heartbeat-answer.json')
        for command in ('CONTINUE', 'WAIT'):
            self.assertIsNone(evaluate_answer({**answer, 'command': command}))

    def test_arguments_stand_in_the_configuration_once_and_where_the_program_reads_them(self) -> None:
        for name in ('vm-config.json', 'vm-config-container.json'):
            with self.subTest(name):
                self.assertEqual(golden(name)['spec']['trainingInput']['args'], [])
                self.assertEqual(read_config(golden(name)).spec.training_input['args'], ['--epochs', '10'])
        body = golden('vm-config.json')
        body['repeatedArguments'][0]['of'] = ['container', 'argv']
        with self.assertRaisesRegex(ConfigError, r"no value at \('container', 'argv'\)"):
            read_config(body)

    def test_a_configuration_without_a_cache_installs_at_every_start(self) -> None:
        body = golden('vm-config.json')
        cache = read_config(body).cached_environments
        assert cache is not None
        self.assertEqual((cache.bucket, cache.folder('k')), ('dropforge-local-cache', 'environments-2/k/'))
        self.assertIsNone(read_config({**body, 'cachedEnvironments': None}).cached_environments)

    def test_a_configuration_that_was_not_written_with_the_agent_says_how_they_differ(self) -> None:
        body = golden('vm-config.json')
        del body['limits']['uploadSeconds'], body['health']
        body['protocol'] = 2
        with self.assertRaisesRegex(
            ConfigError, 'has no health and has an unknown field protocol: it was not written with this agent. Deploy'
        ):
            read_config(body)
        with self.assertRaisesRegex(ConfigError, 'must be an object, not'):
            read_config([])


if __name__ == '__main__':
    unittest.main()
