import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.container.engine import Engine, find_engine
from vm_agent.setup.environment import ENGINE_ENVIRONMENT


class FindEngineTest(unittest.TestCase):
    """With executables called docker and podman on the PATH."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.addCleanup(os.environ.__setitem__, 'PATH', os.environ['PATH'])
        os.environ['PATH'] = folder.name

    def install(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f'#!/bin/sh\n{script}\n')
        path.chmod(0o755)

    def find(self, more: Dict[str, str] = {}) -> str:
        engine = find_engine({'PATH': str(self.folder), **more})
        return 'none' if engine is None else f'{engine.kind} {engine.version}'

    def test_prefers_docker_where_both_answer(self) -> None:
        self.install('podman', 'echo 4.3.1')
        self.install('docker', 'echo 28.2.2')
        self.assertEqual(self.find(), 'docker 28.2.2')

    def test_takes_podman_where_docker_has_no_daemon(self) -> None:
        self.install('docker', 'echo "Cannot connect to the Docker daemon" >&2; exit 1')
        self.install('podman', 'echo 4.3.1')
        self.assertEqual(self.find(), 'podman 4.3.1')

    def test_takes_podman_where_a_client_without_a_daemon_exits_with_success(self) -> None:
        self.install('docker', 'echo; exit 0')
        self.install('podman', 'echo 4.3.1')
        self.assertEqual(self.find(), 'podman 4.3.1')

    def test_finds_none_where_neither_is_installed(self) -> None:
        self.assertEqual(self.find(), 'none')

    def test_asks_with_the_variables_of_the_engine(self) -> None:
        self.install('docker', 'test "$DOCKER_HOST" = unix:///run/d.sock && test -z "$DROPFORGE_ENGINE_ENVIRONMENT" && echo 1')
        self.assertEqual(self.find(), 'none')
        variables = json.dumps({'DOCKER_HOST': 'unix:///run/d.sock'})
        self.assertEqual(self.find({ENGINE_ENVIRONMENT: variables}), 'docker 1')

    def test_a_command_that_hangs_fails_as_the_engine_does(self) -> None:
        self.install('docker', 'exec /bin/sleep 60')
        engine = Engine('docker', '1', {'PATH': str(self.folder)})
        result = engine.run_tool(['ps'], seconds_max=0.1)
        self.assertEqual(result.return_code, 125)
        self.assertIn('timed out', result.stderr)

    def test_measures_the_volumes_of_an_image_like_its_layer(self) -> None:
        for name in ('layer', 'volume', 'bound'):
            (self.folder / name).mkdir()
            (self.folder / name / 'file').write_bytes(b'x' * 65_536)
        mounts = [
            {'Type': 'volume', 'Source': str(self.folder / 'volume')},
            {'Type': 'bind', 'Source': str(self.folder / 'bound')},
        ]
        data = {'UpperDir': str(self.folder / 'layer')}
        self.install('docker', f"echo '{json.dumps([{'GraphDriver': {'Data': data}, 'Mounts': mounts}])}'")
        measure = Engine('docker', '1', {'PATH': str(self.folder)}).measure_layer('c')
        self.assertEqual(measure() // 65_536, 2)


if __name__ == '__main__':
    unittest.main()
