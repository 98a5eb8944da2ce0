import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.container.engine import Engine, find_engine, parse_size
from vm_agent.setup.environment import ENGINE_ENVIRONMENT


class FindEngineTest(unittest.TestCase):
    """With an executable called docker on the PATH."""

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
        return 'none' if engine is None else engine.version

    def test_finds_the_engine_whose_daemon_answers(self) -> None:
        self.assertEqual(self.find(), 'none')
        for script in ('echo "Cannot connect to the Docker daemon" >&2; exit 1', 'echo; exit 0'):
            self.install('docker', script)
            self.assertEqual(self.find(), 'none')
        self.install('docker', 'echo 28.2.2')
        self.assertEqual(self.find(), '28.2.2')

    def test_asks_with_the_variables_of_the_engine(self) -> None:
        self.install('docker', 'test "$DOCKER_HOST" = unix:///run/d.sock && test -z "$DROPFORGE_ENGINE_ENVIRONMENT" && echo 1')
        self.assertEqual(self.find(), 'none')
        variables = json.dumps({'DOCKER_HOST': 'unix:///run/d.sock'})
        self.assertEqual(self.find({ENGINE_ENVIRONMENT: variables}), '1')

    def test_a_command_that_hangs_fails_as_the_engine_does(self) -> None:
        self.install('docker', 'exec /bin/sleep 60')
        engine = Engine('1', {'PATH': str(self.folder)})
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
        measure = Engine('1', {'PATH': str(self.folder)}).measure_layer('c')
        self.assertEqual(measure() // 65_536, 2)

    def test_asks_docker_for_the_size_of_volumes_that_it_may_not_read(self) -> None:
        mounts = [{'Type': 'volume', 'Name': name, 'Source': f'/nonexistent/{name}'} for name in ('own', 'second')]
        sizes = [{'Name': 'own', 'Size': '38.8MB'}, {'Name': 'second', 'Size': '512B'}, {'Name': 'other', 'Size': '1GB'}]
        self.install(
            'docker',
            f"""case "$*" in
  *--size*) echo 1000 ;;
  *df*) echo '{json.dumps(sizes)}' ;;
  *) echo '{json.dumps([{'Mounts': mounts}])}' ;;
esac""",
        )
        measure = Engine('1', {'PATH': str(self.folder)}).measure_layer('c')
        self.assertEqual(measure(), 1_000 + 38_800_000 + 512)

    def test_reads_sizes_as_docker_prints_them(self) -> None:
        texts = ('0B', '512B', '1.5kB', '38.8MB', '1.049GB', '2TB')
        expected = [0, 512, 1_500, 38_800_000, 1_049_000_000, 2 * 10**12]
        self.assertEqual([parse_size(text) for text in texts], expected)
        for text in ('', 'N/A', '1.2.3MB', 'MB', '-1B', '1EB'):
            self.assertRaises(ValueError, parse_size, text)


if __name__ == '__main__':
    unittest.main()
