import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

AGENT = Path(__file__).resolve().parents[1]
# An engine that knows no running container, and shows how it is asked to run one.
ENGINE = '#!/bin/sh\n[ "$1" = container ] && exit 1\necho "$@"\necho "TOKEN is $TOKEN, PRELOAD is $LD_PRELOAD"\n'
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
            'engine': [str(engine)],
            'engineEnvironment': {'PATH': os.environ['PATH']},
            'name': 'c',
            'image': 'image',
            'arguments': [],
        }
        environment = {'TOKEN': 'secret', 'LD_PRELOAD': '/output/x'}
        entry = {'environment': environment, 'folder': '', 'container': container}
        (home / 'enter.json').write_text(json.dumps(entry))
        shown = subprocess.run([sys.executable, '-c', ENTER, str(home)], cwd=AGENT, stdout=subprocess.PIPE, check=True)
        arguments, values = shown.stdout.decode().splitlines()
        self.assertNotIn('secret', arguments)
        self.assertIn('--env TOKEN', arguments)
        self.assertIn('--env LD_PRELOAD=/output/x', arguments)
        self.assertEqual(values, 'TOKEN is secret, PRELOAD is ')


if __name__ == '__main__':
    unittest.main()
