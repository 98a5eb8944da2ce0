import ipaddress
import json
import os
import sys
import unittest
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.program.network_interface import find_interface
from vm_agent.setup.environment import (
    ProgramPaths,
    ReplicaSpec,
    Trial,
    describe_cluster,
    network_variables,
    program_arguments,
    program_environment,
)

SPEC = ReplicaSpec(
    project_id='dropforge-local',
    job_id='digits_20261121',
    attempt=2,
    role='master',
    index=0,
    module='trainer.task',
    command=(),
    args=('--epochs', '10'),
    passes_job_dir=True,
    environment={},
    job_dir='gs://dropforge-local-jobs/digits',
    cluster={'chief': ('df-digits-master-0:2222',)},
    training_input={'scale_tier': 'BASIC'},
    cluster_spec=None,
    trial=None,
)
PATHS = ProgramPaths(Path('/h/venv/bin/python'), Path('/h/output'), Path('/h/m'), Path('/h/t'), ('/h/sources/0',))


def environment_of(**changes: object) -> dict:
    return program_environment(replace(SPEC, **changes), PATHS, {'PYTHONPATH': '/image'})


class EnvironmentTest(unittest.TestCase):
    def test_sets_the_variables_of_ai_platform(self) -> None:
        environment = environment_of()
        self.assertEqual(environment['CLOUD_ML_JOB_ID'], 'digits_20261121')
        self.assertEqual(environment['AIP_MODEL_DIR'], 'gs://dropforge-local-jobs/digits/model/')
        self.assertEqual(environment['PYTHONPATH'], '/h/sources/0:/image')
        cluster = json.loads(environment['TF_CONFIG'])
        self.assertEqual(cluster['task'], {'type': 'chief', 'index': 0})
        self.assertEqual(cluster['job']['scale_tier'], 'BASIC')

    def test_names_the_database_of_mlflow_unless_the_job_or_the_image_names_another_store(self) -> None:
        name = 'MLFLOW_TRACKING_URI'
        self.assertEqual(environment_of()[name], 'sqlite:////h/mlflow.db')
        own = 'https://mlflow.example.com'
        self.assertEqual(environment_of(environment={name: own})[name], own)
        self.assertNotIn(name, environment_of(environment={name: ''}))
        self.assertEqual(program_environment(SPEC, PATHS, {name: own})[name], own)

    def test_activates_the_callback_of_transformers_unless_the_job_switches_it_off(self) -> None:
        name = 'KUBEFLOW_TRAINER_SERVER_URL'
        tools = {name: 'http://127.0.0.1:4'}
        self.assertEqual(program_environment(SPEC, PATHS, tools)['KUBEFLOW_TRAINER_SERVER_TOKEN'], '/h/progress-token')
        self.assertEqual(program_environment(SPEC, PATHS, tools)[name], 'http://127.0.0.1:4')
        self.assertNotIn(name, program_environment(replace(SPEC, environment={name: ''}), PATHS, tools))

    def test_ranks_the_master_and_workers_of_a_cluster_only(self) -> None:
        cluster = {'chief': ('a:2222',), 'worker': ('b:2222', 'c:2222'), 'ps': ('d:2222',)}
        worker = environment_of(cluster=cluster, role='worker', index=1)
        self.assertEqual(
            [worker[name] for name in ('MASTER_ADDR', 'MASTER_PORT', 'RANK', 'WORLD_SIZE')], ['a', '2222', '2', '3']
        )
        self.assertNotIn('RANK', environment_of(cluster=cluster, role='ps', index=0))
        self.assertEqual(worker['NODE_RANK'], '2')

    def test_every_attempt_has_the_same_ranks_with_the_master_first(self) -> None:
        for attempt in (1, 2):
            # The order of roles in the configuration means nothing.
            cluster = {'worker': (f'b{attempt}:1', f'c{attempt}:1'), 'chief': (f'a{attempt}:1',)}
            replicas = (('worker', 1), ('master', 0), ('worker', 0))
            attempts = {'cluster': cluster, 'attempt': attempt}
            found = [environment_of(**attempts, role=role, index=index) for role, index in replicas]
            self.assertEqual([one['RANK'] for one in found], ['2', '0', '1'])
            self.assertEqual({one['MASTER_ADDR'] for one in found}, {f'a{attempt}'})

    @unittest.skipUnless(sys.platform == 'linux', 'names of interfaces are Linux\'s')
    def test_nccl_and_gloo_use_the_interface_that_reaches_the_other_replicas_unless_the_job_or_image_says_another(
        self,
    ) -> None:
        cluster = {'chief': ('127.0.0.1:2222',), 'worker': ('127.0.0.1:2223',), 'ps': ('127.0.0.1:2224',)}
        own, names = replace(SPEC, cluster=cluster), ('NCCL_SOCKET_IFNAME', 'GLOO_SOCKET_IFNAME')
        variables = network_variables(own)
        self.assertEqual([variables[name] for name in names], ['=lo', 'lo'])
        for chosen, expected in (('eth1', 'eth1'), ('', None)):
            spec = replace(own, environment={'NCCL_SOCKET_IFNAME': chosen})
            environment = program_environment(spec, PATHS, variables)
            self.assertEqual([environment.get(name) for name in names], [expected, 'lo'])
        unknown = {'chief': ('a:1',), 'worker': ('b.invalid:1',)}
        for without in ({'cluster': SPEC.cluster}, {'role': 'ps'}, {'cluster': unknown}):
            self.assertEqual(network_variables(replace(own, **without)), {})

    @unittest.skipUnless(os.path.exists('/proc/net/route'), 'needs /proc')
    def test_the_interface_is_that_of_the_route_whatever_the_machine_calls_it(self) -> None:
        routes = [line.split() for line in Path('/proc/net/route').read_text().splitlines()[1:]]
        for name, destination in ((fields[0], fields[1]) for fields in routes if fields[1] != '00000000'):
            network = int.from_bytes(bytes.fromhex(destination), 'little')
            self.assertEqual(find_interface(str(ipaddress.IPv4Address(network + 200))), name)

    def test_a_single_machine_has_no_rank(self) -> None:
        for name in ('MASTER_ADDR', 'MASTER_PORT', 'NODE_RANK', 'RANK', 'WORLD_SIZE'):
            self.assertNotIn(name, environment_of())
        self.assertEqual(environment_of(environment={'RANK': '0'})['RANK'], '0')

    def test_describes_the_worker_pools_of_vertex_ai(self) -> None:
        pools = {'workerpool0': ['a:2222'], 'workerpool3': ['b:2222']}
        job = {'scheduling': {'timeout': '60s'}}
        environment = environment_of(role='evaluator', cluster_spec={'cluster': pools, 'job': job})
        self.assertEqual(
            json.loads(environment['CLUSTER_SPEC']),
            {'cluster': pools, 'environment': 'cloud', 'task': {'type': 'workerpool3', 'index': 0}, 'job': job},
        )
        self.assertEqual(json.loads(environment['TF_CONFIG'])['task']['type'], 'evaluator')
        alone = environment_of(cluster_spec={'cluster': {'workerpool0': ['a:2222']}, 'job': job})
        self.assertNotIn('TF_CONFIG', alone)

    def test_tells_a_trial_its_id_where_both_services_do(self) -> None:
        pools = {'workerpool0': ['a:2222']}
        environment = environment_of(trial=Trial('7', ('loss',)), cluster_spec={'cluster': pools, 'job': {}})
        self.assertEqual(environment['CLOUD_ML_TRIAL_ID'], '7')
        self.assertEqual(
            json.loads(environment['CLUSTER_SPEC'])['task'], {'type': 'workerpool0', 'index': 0, 'trial': '7'}
        )
        task = json.loads(environment_of(trial=Trial('7', ('loss',)))['TF_CONFIG'])['task']
        self.assertEqual(task['trial'], '7')
        self.assertEqual(environment_of()['CLOUD_ML_TRIAL_ID'], '0')
        self.assertNotIn('trial', json.loads(environment_of()['TF_CONFIG'])['task'])

    def test_names_each_role_as_the_cluster_does(self) -> None:
        self.assertEqual(describe_cluster(SPEC)['task'], {'type': 'chief', 'index': 0})
        self.assertEqual(describe_cluster(replace(SPEC, role='evaluator'))['task']['type'], 'evaluator')

    def test_the_users_variables_override_and_remove_the_machines(self) -> None:
        tools = {'http_proxy': 'http://proxy', 'LANG': 'C.UTF-8', 'HOME': '/root'}
        spec = replace(SPEC, environment={'http_proxy': '', 'LANG': 'de_DE.UTF-8', 'EMPTY': ''})
        environment = program_environment(spec, PATHS, tools)
        self.assertNotIn('http_proxy', environment)
        self.assertEqual([environment[name] for name in ('LANG', 'HOME', 'EMPTY')], ['de_DE.UTF-8', '/root', ''])

    def test_a_program_reaches_its_own_machine_without_a_proxy(self) -> None:
        loopback = '127.0.0.1,localhost,::1,[::1]'
        for tools, own, expected in (
            ({}, {'HTTPS_PROXY': 'http://p'}, (loopback, loopback)),
            ({'http_proxy': 'http://p', 'no_proxy': 'a, .b'}, {}, (f'a,.b,{loopback}', f'a,.b,{loopback}')),
            ({'no_proxy': 'a'}, {'all_proxy': 'p', 'NO_PROXY': 'b'}, (f'b,{loopback}', f'a,{loopback}')),
            ({'http_proxy': 'http://p', 'no_proxy': 'a'}, {'no_proxy': ''}, (loopback, loopback)),
            ({'http_proxy': 'http://p', 'no_proxy': '*'}, {}, ('*', '*')),
            ({'http_proxy': 'http://p'}, {'http_proxy': ''}, (None, None)),
            ({'no_proxy': 'a'}, {'NO_PROXY': 'b'}, ('b', 'a')),
        ):
            environment = program_environment(replace(SPEC, environment=own), PATHS, tools)
            self.assertEqual((environment.get('NO_PROXY'), environment.get('no_proxy')), expected)

    def test_adds_the_job_directory_once(self) -> None:
        self.assertEqual(program_arguments(SPEC, SPEC.args)[-1], '--job-dir=gs://dropforge-local-jobs/digits')
        for own in (('--job-dir', 'x'), ('--job-dir=x',)):
            self.assertEqual(program_arguments(SPEC, own), list(own))

    def test_does_not_add_the_job_directory_if_the_dialect_does_not(self) -> None:
        self.assertEqual(program_arguments(replace(SPEC, passes_job_dir=False), SPEC.args), ['--epochs', '10'])

    def test_the_users_variables_do_not_override_dropforges(self) -> None:
        environment = environment_of(
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


if __name__ == '__main__':
    unittest.main()
