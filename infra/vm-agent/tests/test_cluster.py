import json
import socket
import sys
import tempfile
import threading
import unittest
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Dict

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from cluster_agents import POLICY, Cluster, await_true
from fake_storage import FakeStorage
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.output.snapshot import Interval
from vm_agent.storage.cluster.peers import STRANGERS_MAX
from vm_agent.storage.directory.object_names import MANIFEST_NAME
from vm_agent.storage.transfer.client import END_KEY, SUCCESS_KEY


class ClusterTestCase(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = FakeStorage()
        self.cloud.is_versioned = True
        self.addCleanup(self.cloud.close)
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)

    def open(self, count: int = 3, attempt: int = 1) -> Cluster:
        cluster = Cluster(self.cloud, self.home, count, attempt)
        for agent in cluster.agents.values():
            self.addCleanup(agent.close)
        return cluster

    def finish(self, cluster: Cluster, *names: str) -> Dict[str, object]:
        """Ends the programs of these replicas, all at once."""
        found: Dict[str, object] = {}

        def finish(name: str) -> None:
            found[name] = cluster.agents[name].sync.finish(POLICY, marks=(END_KEY, SUCCESS_KEY))

        threads = [threading.Thread(target=finish, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found


class SaveTest(ClusterTestCase):
    def test_commits_the_files_of_all_replicas_as_one_set_and_restores_it_on_every_replica(self) -> None:
        cluster = self.open()
        cluster.start()
        shards = {f'step-1/shard-{rank}': f'1 of {rank}' for rank in range(3)}
        for agent, (name, text) in zip(cluster.agents.values(), shards.items()):
            agent.write(name, text)
        cluster.master.write('step-1/index', '3')
        expected = {**shards, 'step-1/index': '3'}
        self.assertEqual(cluster.await_commit(lambda files: len(files) == 4), expected)
        self.assertEqual(cluster.manifest().writers, {'step-1/shard-1': 'worker-0', 'step-1/shard-2': 'worker-1'})
        later = self.open(count=2, attempt=2)
        self.assertEqual([agent.read() for agent in later.agents.values()], [expected, expected])

    def test_commits_at_the_end_what_each_program_wrote_last(self) -> None:
        cluster = self.open()
        cluster.start(interval_seconds=60.0)
        for name, agent in cluster.agents.items():
            agent.write(f'model-{name}', name)
        self.assertEqual(self.finish(cluster, *cluster.replicas), dict.fromkeys(cluster.replicas, ()))
        self.assertEqual(cluster.committed(), {f'model-{name}': name for name in cluster.replicas})

    def test_commits_no_set_while_a_replica_rewrites_its_part(self) -> None:
        cluster = self.open(count=2)
        cluster.start()
        worker = cluster.agents['worker-0']
        for agent in cluster.agents.values():
            agent.write(f'shard-{agent.replica}', '1')
        cluster.await_commit(lambda files: len(files) == 2)
        with open(worker.output / 'shard-worker-0', 'w') as shard:
            # The second step of the master is on its disk, and that of the worker is being written.
            cluster.master.write('shard-master-0', '2')
            shard.write('2')
            shard.flush()
            number = cluster.manifest().set_number
            cluster.master.write('log.jsonl', '{}')
            cluster.master.sync.request_sync()
            self.assertEqual(set(cluster.committed()[f'shard-{name}'] for name in cluster.replicas), {'1'})
        files = cluster.await_commit(lambda files: files['shard-master-0'] == '2')
        self.assertEqual(files['shard-worker-0'], '2')
        self.assertGreater(cluster.manifest().set_number, number)

    def test_leaves_out_a_new_folder_that_one_replica_has_not_finished(self) -> None:
        cluster = self.open(count=2)
        cluster.start()
        worker = cluster.agents['worker-0']
        worker.write('step-2/shard-1', '')
        with open(worker.output / 'step-2' / 'shard-1', 'w') as shard:
            cluster.master.write('step-2/shard-0', '2')
            cluster.master.write('report', '1')
            self.assertEqual(cluster.await_commit(lambda files: 'report' in files), {'report': '1'})
            shard.write('2')
        cluster.await_commit(lambda files: files == {'report': '1', 'step-2/shard-0': '2', 'step-2/shard-1': '2'})

    def test_a_replica_that_writes_nothing_delays_no_set(self) -> None:
        cluster = self.open()
        cluster.start()
        cluster.master.write('model', '1')
        cluster.await_commit(lambda files: files == {'model': '1'})
        cluster.agents['worker-1'].write('report', '2')
        cluster.await_commit(lambda files: files == {'model': '1', 'report': '2'})

    def test_deletes_what_any_replica_deletes_of_the_files_of_earlier_attempts(self) -> None:
        first = self.open(count=2)
        first.start()
        first.master.write('step-1/index', '1')
        first.agents['worker-0'].write('step-1/shard', '1')
        first.await_commit(lambda files: len(files) == 2)
        second = self.open(count=2, attempt=2)
        second.start()
        for name in ('index', 'shard'):
            (second.master.output / 'step-1' / name).unlink()
        second.master.write('step-2/index', '2')
        second.await_commit(lambda files: files == {'step-2/index': '2'})

    def test_keeps_the_versions_of_both_replicas_that_write_one_name_and_says_so(self) -> None:
        cluster = self.open(count=2)
        cluster.start()
        for name, agent in cluster.agents.items():
            agent.write('log.txt', name)
        files = {'log.txt': 'master-0', 'dropforge-replicas/worker-0/log.txt': 'worker-0'}
        cluster.await_commit(lambda found: found == files)
        await_true(lambda: 'worker-0' in ' '.join(cluster.master.warnings))
        later = self.open(count=2, attempt=2)
        self.assertEqual({name: agent.read() for name, agent in later.agents.items()}, {
            'master-0': {'log.txt': 'master-0'}, 'worker-0': {'log.txt': 'worker-0'}
        })
        later.start()
        later.agents['worker-0'].write('log.txt', 'worker-0 again')
        later.await_commit(lambda found: found == {**files, 'dropforge-replicas/worker-0/log.txt': 'worker-0 again'})


    def test_restores_a_file_of_one_replica_and_a_folder_of_another_with_one_name(self) -> None:
        cluster = self.open()
        cluster.start()
        cluster.master.write('checkpoint', 'step-1')
        cluster.agents['worker-0'].write('checkpoint/shard', '1')
        cluster.await_commit(lambda found: len(found) == 2)
        later = self.open(attempt=2)
        state = {'checkpoint': 'step-1'}
        found = {name: agent.read() for name, agent in later.agents.items()}
        await_true(lambda: 'worker-0' in ' '.join(cluster.master.warnings))
        self.assertEqual(found, {'master-0': state, 'worker-0': {'checkpoint/shard': '1'}, 'worker-1': state})

    def test_deletes_no_version_that_the_manifest_names(self) -> None:
        first = self.open(count=2)
        first.start()
        first.agents['worker-0'].write('shard', '1')
        first.await_commit(lambda files: files == {'shard': '1'})
        second = self.open(count=2, attempt=2)
        second.start()
        second.agents['worker-0'].write('events', '1')
        second.await_commit(lambda files: len(files) == 2)
        self.cloud.reject = lambda one: 503 if one.method == 'POST' and MANIFEST_NAME in one.path else None
        second.agents['worker-0'].write('shard', '2')
        await_true(lambda: self.cloud.objects['p/shard'].body == b'2')
        self.cloud.reject = lambda one: None
        self.assertIn(second.committed()['shard'], ('1', '2'))


class IndexTest(ClusterTestCase):
    INDEX = json.dumps({'weight_map': {'a': 'm-1.safetensors', 'b': 'm-2.safetensors'}})

    def test_commits_a_checkpoint_when_every_file_is_there_that_its_index_names(self) -> None:
        cluster = self.open(count=2)
        cluster.start()
        cluster.master.write('m/m.safetensors.index.json', self.INDEX)
        cluster.master.write('m/m-1.safetensors', '1')
        cluster.master.write('report', '1')
        cluster.await_commit(lambda files: files == {'report': '1'})
        cluster.agents['worker-0'].write('m/m-2.safetensors', '2')
        cluster.await_commit(lambda files: len(files) == 4)

    def test_restores_no_checkpoint_of_which_only_the_master_was_saved(self) -> None:
        single = self.open(count=1)
        single.start()
        single.master.write('m/m.safetensors.index.json', self.INDEX)
        single.master.write('m/m-1.safetensors', '1')
        single.master.write('report', '1')
        single.await_commit(lambda files: len(files) == 3)
        cluster = self.open(count=2, attempt=2)
        self.assertEqual([agent.read() for agent in cluster.agents.values()], [{'report': '1'}] * 2)
        self.assertEqual(len(cluster.committed()), 3)


class RogueMasterTest(ClusterTestCase):
    """A process without the secret that has the port of the master's agent."""

    def test_no_member_answers_for_it_the_challenge_of_another_member(self) -> None:
        cluster = self.open()
        with socket.create_server(('127.0.0.1', cluster.port)) as server:
            for name in ('worker-0', 'worker-1'):
                cluster.agents[name].start(0.2)
            one, other = (Connection(server.accept()[0].detach()) for _ in range(2))
            one.send_bytes(b'#CHALLENGE#' + bytes(20))
            one.recv_bytes(256)
            one.send_bytes(b'#WELCOME#')
            other.send_bytes(one.recv_bytes(256))
            one.send_bytes(other.recv_bytes(256))
            self.assertEqual(one.recv_bytes(256), b'#FAILURE#')


class LostTest(ClusterTestCase):
    def test_keeps_the_last_set_if_a_replica_is_lost_before_its_part_is_committed(self) -> None:
        cluster = self.open()
        cluster.start()
        for name, agent in cluster.agents.items():
            agent.write(f'checkpoint/{name}', '1')
        complete = cluster.await_commit(lambda files: len(files) == 3)
        lost = cluster.agents['worker-1']
        lost.close()
        for name in ('master-0', 'worker-0'):
            cluster.agents[name].write(f'checkpoint/{name}', '2')
        cluster.master.write('report', 'failed')
        self.finish(cluster, 'master-0', 'worker-0')
        self.assertEqual(cluster.committed(), {**complete, 'report': 'failed'})
        self.assertEqual(self.cloud.objects['p/checkpoint/worker-0'].body, b'1')
        self.assertEqual(self.cloud.objects['p/dropforge-replicas/worker-0/checkpoint/worker-0'].body, b'2')

    def test_a_lost_replica_is_missing_in_the_next_checkpoint_too(self) -> None:
        cluster = self.open(count=2)
        cluster.start()
        for name, agent in cluster.agents.items():
            agent.write(f'step-1/{name}', '1')
        complete = cluster.await_commit(lambda files: len(files) == 2)
        cluster.agents['worker-0'].close()
        cluster.master.write('step-2/master-0', '2')
        cluster.master.write('report', 'failed')
        self.finish(cluster, 'master-0')
        self.assertEqual(cluster.committed(), {**complete, 'report': 'failed'})

    def test_a_new_folder_is_a_change_since_the_snapshot(self) -> None:
        agent = self.open(count=2).master
        snapshot = agent.files.take(Interval(0.2), threading.Event())
        assert snapshot is not None
        agent.write('step-1/shard', '1')
        self.assertEqual(agent.files.find_changed(snapshot), {'step-1/shard'})

    def test_holds_the_checkpoints_that_others_begin_after_a_program_has_failed(self) -> None:
        cluster = self.open(count=3)
        cluster.start()
        for name, agent in cluster.agents.items():
            agent.write(f'checkpoints/step-1/{name}', '1')
        complete = cluster.await_commit(lambda files: len(files) == 3)
        cluster.agents['worker-1'].sync.finish(POLICY)
        for name in ('master-0', 'worker-0'):
            cluster.agents[name].write(f'checkpoints/step-2/{name}', '2')
        cluster.agents['worker-0'].write('report', '1')
        self.assertEqual(cluster.await_commit(lambda files: 'report' in files), {**complete, 'report': '1'})

    def test_awaits_the_programs_that_end_after_that_of_the_master(self) -> None:
        cluster = self.open(count=2)
        cluster.start(interval_seconds=60.0)
        ended = threading.Thread(target=self.finish, args=(cluster, 'master-0'))
        ended.start()
        worker = cluster.agents['worker-0']
        worker.write('last', '1')
        self.finish(cluster, 'worker-0')
        ended.join()
        self.assertEqual(cluster.committed(), {'last': '1'})

    def test_uploads_what_a_replica_wrote_after_the_last_set(self) -> None:
        cluster = self.open(count=2)
        cluster.start()
        worker = cluster.agents['worker-0']
        cluster.master.close()
        worker.write('last', '1')
        self.assertEqual(worker.sync.finish(RetryPolicy(tries_max=1, seconds_max=1.0)), ())
        self.assertEqual(self.cloud.objects['p/dropforge-replicas/worker-0/last'].body, b'1')
        self.assertIn('dropforge-replicas/worker-0/', ' '.join(worker.warnings))

    def test_continues_after_a_reboot_of_any_replica(self) -> None:
        cluster = self.open()
        cluster.start()
        cluster.master.write('shared', '0')
        for name, agent in cluster.agents.items():
            agent.write(name, '1')
        cluster.await_commit(lambda files: len(files) == 4)
        for name in cluster.replicas:
            cluster.reboot(name)
            cluster.agents[name].write(name, f'after {name}')
            cluster.await_commit(lambda files: files[name] == f'after {name}' and len(files) == 4)

    def test_an_agent_without_the_secret_has_no_part(self) -> None:
        cluster = self.open(count=2)
        cluster.secrets['worker-0'] = '00' * 32
        cluster.start()
        cluster.agents['worker-0'].write('forged', '1')
        cluster.master.write('model', '1')
        self.finish(cluster, 'master-0')
        self.assertEqual(cluster.committed(), {'model': '1'})

    def test_strangers_that_say_nothing_keep_no_replica_out(self) -> None:
        cluster = self.open(count=2)
        cluster.master.start(0.2)

        def is_open() -> bool:
            with socket.socket() as client:
                return client.connect_ex(('127.0.0.1', cluster.port)) == 0

        await_true(is_open)
        strangers = [socket.create_connection(('127.0.0.1', cluster.port)) for _ in range(STRANGERS_MAX)]
        cluster.agents['worker-0'].write('model', '1')
        cluster.agents['worker-0'].start(0.2)
        cluster.await_commit(lambda files: files == {'model': '1'})
        for stranger in strangers:
            stranger.close()

    def test_an_attempt_that_is_over_is_told_so_on_every_replica(self) -> None:
        for attempt, name in ((1, 'worker-0'), (3, 'master-0')):
            cluster = self.open(count=2, attempt=attempt)
            cluster.start()
            self.open(count=2, attempt=attempt + 1)
            cluster.agents[name].write(name, '1')
            await_true(lambda: bool(cluster.agents[name].fenced))
            self.assertEqual(cluster.committed(), {})


if __name__ == '__main__':
    unittest.main()
