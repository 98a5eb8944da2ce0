import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

AGENT = Path(__file__).resolve().parents[1]
# An engine that knows no running container, and shows how it is asked to run one.
ENGINE = r"""#!/bin/sh
[ "$1" = container ] && exit 1
echo "$@"
echo "TOKEN is $TOKEN, PRELOAD is $LD_PRELOAD"
while [ "$1" != --env-file ]; do shift; done
cat "$2"
pwd
"""
ENTER = 'import sys; from pathlib import Path; from vm_agent.shell.enter import enter; sys.exit(enter(Path(sys.argv[1]), ["id"]))'


class EnterTest(unittest.TestCase):
    def test_a_container_of_a_failed_program_is_entered_without_a_secret_among_the_arguments(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        home = Path(holder.name)
        engine = home / 'docker'
        engine.write_text(ENGINE)
        engine.chmod(0o700)
        container = {
            'kind': 'docker',
            'engineEnvironment': {'PATH': f'{home}:{os.environ["PATH"]}'},
            'name': 'c',
            'image': 'image',
            'arguments': [],
        }
        environment = {'TOKEN': 'secret', 'LD_PRELOAD': '/output/x'}
        entry = {'environment': environment, 'folder': '', 'container': container}
        (home / 'enter.json').write_text(json.dumps(entry))
        shown = subprocess.run([sys.executable, '-c', ENTER, str(home)], cwd=AGENT, stdout=subprocess.PIPE, check=True)
        arguments, values, file, folder = shown.stdout.decode().splitlines()
        self.assertNotIn('secret', arguments)
        self.assertIn('--env TOKEN', arguments)
        self.assertNotIn('/output/x', arguments)
        self.assertEqual(values, 'TOKEN is secret, PRELOAD is ')
        self.assertEqual(file, 'LD_PRELOAD=/output/x')
        # Podman's monitor writes a file `oom` to the folder in which its command runs.
        self.assertEqual(folder, str(home.resolve()))


if __name__ == '__main__':
    unittest.main()
