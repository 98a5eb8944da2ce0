"""The golden files of shared/protocol are read by both sides, so that TypeScript and Python cannot drift."""

import json
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from vm_agent.config import ConfigError, parse_config
from vm_agent.environment import Places, describe_cluster, make_work_directory, program_arguments, program_environment
from vm_agent.exit_report import ExitReport, fit_evidence
from vm_agent.heartbeat import NO_USAGE, Report, heartbeat_body, judge_answer

GOLDEN = HERE.parents[2] / 'shared' / 'protocol' / 'golden'
CONFIG = (GOLDEN / 'vm-config.json').read_text('utf-8')


def golden(name: str) -> dict:
    return json.loads((GOLDEN / name).read_text('utf-8'))


class ConfigTest(unittest.TestCase):
    def test_reads_the_golden_configuration(self) -> None:
        config = parse_config(CONFIG)
        self.assertEqual((config.job_id, config.attempt, config.replica), ('digits_20261121', 2, 'master-0'))
        self.assertEqual(config.packages[0].bucket, 'dropforge-local-jobs')
        self.assertEqual(config.packages[0].file_name, 'digits-0.1.tar.gz')
        self.assertEqual((config.limits.dead_man_seconds, config.limits.setup_seconds), (600, 7_080))
        self.assertEqual(config.replica_count, 1)
        self.assertEqual(config.limits.upload_seconds, 1_800)
        self.assertEqual(config.limits.preemption_notice_seconds, 120)

    def test_names_the_field_that_is_wrong(self) -> None:
        body = json.loads(CONFIG)
        for path, name in ((('limits',), 'deadManSeconds'), (('program',), 'module'), ((), 'jobDir')):
            changed = json.loads(CONFIG)
            holder = changed
            for step in path:
                holder = holder[step]
            holder[name] = None
            with self.assertRaisesRegex(ConfigError, name):
                parse_config(json.dumps(changed))
        with self.assertRaisesRegex(ConfigError, 'protocol 2'):
            parse_config(json.dumps({**body, 'protocol': 2}))
        with self.assertRaisesRegex(ConfigError, 'not JSON'):
            parse_config('{')


class HeartbeatTest(unittest.TestCase):
    def test_says_exactly_what_the_golden_heartbeats_say(self) -> None:
        config = parse_config(CONFIG)
        running = golden('heartbeat-running.json')
        body = heartbeat_body(config, 7, Report('RUNNING', running['usage'], running['progress']))
        self.assertEqual(body, running)
        exited = golden('heartbeat-exited.json')
        evidence = ('Traceback (most recent call last):', 'ValueError: x12 must not be 10')
        report = ExitReport('EXITED', 'The program ended with exit code 1.', exit_code=1, evidence=evidence)
        body = heartbeat_body(config, 19, Report('EXITED', NO_USAGE, exited['progress'], report))
        self.assertEqual(json.loads(json.dumps(body)), exited)

    def test_obeys_the_golden_answer(self) -> None:
        answer = golden('heartbeat-answer.json')
        notice = judge_answer(answer)
        self.assertEqual(notice and notice.reason, 'STOPPED')
        self.assertIn(answer['reason'], notice.message if notice else '')
        for command in ('CONTINUE', 'WAIT'):
            self.assertIsNone(judge_answer({**answer, 'command': command}))

    def test_keeps_evidence_within_lines_characters_and_bytes(self) -> None:
        lines = [f'{number} ' + '\U0001f600' * 3000 for number in range(100)]
        kept = fit_evidence(lines)
        self.assertTrue(kept[-1].startswith('99 '))
        self.assertLessEqual(len(kept), 40)
        self.assertTrue(all(len(line.encode('utf-16-le')) <= 4000 for line in kept))
        self.assertLess(len(json.dumps(kept)), 45_000)
        self.assertEqual(len(fit_evidence(['short'] * 100)), 40)


class EnvironmentTest(unittest.TestCase):
    def setUp(self) -> None:
        self.config = parse_config(CONFIG)
        venv = Path('/h/venv/bin/python')
        self.places = Places(venv, Path('/h/output'), Path('/h/m'), Path('/h/t'), ('/h/sources/0',))

    def environment(self, **changes: object) -> dict:
        return program_environment(replace(self.config, **changes), self.places, {'PYTHONPATH': '/image'})

    def test_tells_the_program_what_ai_platform_told_it(self) -> None:
        environment = self.environment()
        self.assertEqual(environment['CLOUD_ML_JOB_ID'], 'digits_20261121')
        self.assertEqual(environment['AIP_MODEL_DIR'], 'gs://dropforge-local-jobs/digits/model/')
        self.assertEqual(environment['PYTHONPATH'], '/h/sources/0:/image')
        cluster = json.loads(environment['TF_CONFIG'])
        self.assertEqual(cluster['task'], {'type': 'chief', 'index': 0})
        self.assertEqual(cluster['job']['scale_tier'], 'BASIC')

    def test_ranks_the_members_of_a_cluster_and_nobody_else(self) -> None:
        cluster = {'chief': ('a:2222',), 'worker': ('b:2222', 'c:2222'), 'ps': ('d:2222',)}
        worker = self.environment(cluster=cluster, role='worker', index=1)
        self.assertEqual(
            [worker[name] for name in ('MASTER_ADDR', 'MASTER_PORT', 'RANK', 'WORLD_SIZE')], ['a', '2222', '2', '3']
        )
        self.assertNotIn('RANK', self.environment(cluster=cluster, role='ps', index=0))
        alone = self.environment()
        self.assertEqual([alone[name] for name in ('MASTER_ADDR', 'RANK', 'WORLD_SIZE')], ['localhost', '0', '1'])

    def test_names_the_master_as_the_cluster_does(self) -> None:
        config = replace(self.config, cluster={'master': ('a:2222',)})
        self.assertEqual(describe_cluster(config)['task'], {'type': 'master', 'index': 0})
        self.assertEqual(describe_cluster(replace(config, role='evaluator'))['task']['type'], 'evaluator')

    def test_adds_the_job_directory_once(self) -> None:
        self.assertEqual(program_arguments(self.config)[-1], '--job-dir=gs://dropforge-local-jobs/digits')
        for own in (('--job-dir', 'x'), ('--job-dir=x',)):
            self.assertEqual(program_arguments(replace(self.config, args=own)), list(own))

    def test_keeps_the_job_directory_from_programs_that_are_not_told_it(self) -> None:
        config = replace(self.config, passes_job_dir=False)
        self.assertEqual(program_arguments(config), ['--epochs', '10'])

    def test_gives_the_program_its_own_variables_but_none_of_the_service(self) -> None:
        environment = self.environment(
            environment={
                'A': '$(CLOUD_ML_JOB_ID)-$(B)',
                'B': '$$(A) $(A)',
                'TF_CONFIG': 'mine',
                'PYTHONPATH': '/mine',
            }
        )
        self.assertEqual(environment['A'], 'digits_20261121-$(B)')
        self.assertEqual(environment['B'], '$(A) digits_20261121-$(B)')
        self.assertIn('cluster', json.loads(environment['TF_CONFIG']))
        self.assertEqual(environment['PYTHONPATH'], '/h/sources/0:/mine:/image')

    def test_leads_the_path_of_the_job_directory_to_the_output_directory(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            output, work = Path(folder, 'output'), Path(folder, 'work')
            output.mkdir()
            work.mkdir()
            make_work_directory(work, 'gs://bucket/a/b', output)
            Path(f'{work}/gs://bucket/a/b/model').write_text('m')
            self.assertEqual((output / 'model').read_text(), 'm')


if __name__ == '__main__':
    unittest.main()
