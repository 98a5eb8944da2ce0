import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict, List

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from mlflow_store import Store
from vm_agent.paths.mlflow_installer import install_mlflow_plugin

# The modules of MLflow that build stores, as far as plugins see them (mlflow/tracking/_tracking_service).
MLFLOW = {
    'mlflow/__init__.py': '',
    'mlflow/__main__.py': 'import sys\nprint(*sys.argv[1:])\nopen(sys.argv[3][10:] + ".upgraded", "w").close()\n',
    'mlflow/store/tracking/file_store.py': """
import os
class FileStore:
    def __init__(self, root, artifacts):
        print('files', root, artifacts, os.environ.get('MLFLOW_ALLOW_FILE_STORE'))
""",
    'mlflow/store/tracking/sqlalchemy_store.py': """
import os
import sqlite3
class SqlAlchemyStore:
    def __init__(self, uri, artifacts):
        path = uri[len('sqlite:///'):]
        if os.path.exists(path + '.old') and not os.path.exists(path + '.upgraded'):
            raise Exception('Detected out-of-date database schema (found version a, but expected b).')
        connection = sqlite3.connect(path)
        connection.execute('CREATE TABLE created (a)')
        print('database', path, artifacts)
""",
    'mlflow/tracking/_tracking_service/utils.py': """
from importlib.metadata import entry_points
def _get_sqlalchemy_store(store_uri, artifact_uri):
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    return SqlAlchemyStore(store_uri, './mlruns' if artifact_uri is None else artifact_uri)
registry = {'sqlite': _get_sqlalchemy_store}
found = entry_points()
group = 'mlflow.tracking_store'
for one in found.select(group=group) if hasattr(found, 'select') else found.get(group, ()):
    registry[one.name] = one.load()
def get_store(store_uri):
    return registry[store_uri.partition(':')[0]](store_uri=store_uri, artifact_uri=None)
""",
}
START = 'import sys\nfrom mlflow.tracking._tracking_service.utils import get_store\nget_store(sys.argv[1])\n'


class PluginTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        self.packages = self.home / 'packages'
        for name, text in MLFLOW.items():
            (self.packages / name).parent.mkdir(parents=True, exist_ok=True)
            (self.packages / name).write_text(text)
        install_mlflow_plugin(self.packages)
        install_mlflow_plugin(self.packages)
        self.output, self.database = self.home / 'output', self.home / 'metrics' / 'mlflow.db'
        self.output.mkdir()
        self.database.parent.mkdir()
        self.uri = f'sqlite:///{self.database}'

    def environment(self) -> Dict[str, str]:
        return {
            **os.environ,
            'PYTHONPATH': str(self.packages),
            'DROPFORGE_OUTPUT_DIR': str(self.output),
            'DROPFORGE_METRICS_FILE': str(self.database.with_name('metrics.jsonl')),
        }

    def start(self, uri: str) -> 'subprocess.Popen[str]':
        argv = [sys.executable, '-B', '-c', START, uri]
        streams = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE}
        return subprocess.Popen(argv, env=self.environment(), cwd=self.home, text=True, **streams)  # type: ignore

    def open(self, uri: str) -> List[str]:
        program = self.start(uri)
        stdout, stderr = program.communicate()
        self.errors = stderr
        self.assertEqual(program.returncode, 0, stderr)
        return stdout.split('\n')

    def test_artifacts_are_in_the_output_directory_whatever_the_working_directory_is(self) -> None:
        self.assertEqual(self.open(self.uri)[0], f'database {self.database} {self.output}/mlflow-artifacts')
        self.assertEqual(self.errors, '')

    def test_another_database_of_the_program_is_left_alone(self) -> None:
        other = self.home / 'own.db'
        self.assertEqual(self.open(f'sqlite:///{other}')[0], f'database {other} ./mlruns')

    def test_mlflow_skinny_writes_files_and_says_what_to_install(self) -> None:
        (self.packages / 'mlflow/store/tracking/sqlalchemy_store.py').write_text('import sqlalchemy_of_no_one')
        folder = self.output / 'mlruns'
        self.assertEqual(self.open(self.uri)[0], f'files {folder} {folder} true')
        self.assertIn("No module named 'sqlalchemy_of_no_one'", self.errors)
        self.assertIn('add mlflow in place of mlflow-skinny, or sqlalchemy and alembic', self.errors)

    def test_processes_that_start_at_once_create_the_tables_one_after_the_other(self) -> None:
        store = self.packages / 'mlflow/store/tracking/sqlalchemy_store.py'
        # MLflow does this, too: without a lock, all find no table, and all but one fail to create it.
        text = store.read_text().replace(
            "        connection.execute('CREATE",
            "        found = connection.execute('SELECT * FROM sqlite_master').fetchall()\n"
            '        import time; time.sleep(0.1)\n'
            "        found or connection.execute('CREATE",
        )
        store.write_text(text)
        programs = [self.start(self.uri) for _ in range(4)]
        outputs = [program.communicate() for program in programs]
        self.assertEqual([program.returncode for program in programs], [0] * 4, outputs)

    def test_a_database_of_an_older_version_is_upgraded(self) -> None:
        self.database.with_name('mlflow.db.old').touch()
        self.assertEqual(
            self.open(self.uri)[:2],
            [f'db upgrade {self.uri}', f'database {self.database} {self.output}/mlflow-artifacts'],
        )

    def test_artifacts_of_earlier_attempts_are_found_on_this_vm(self) -> None:
        for version in (2, 3):
            with self.subTest(version):
                store = Store(self.database, '', version)
                store.start_run('1' * 32, 'main')
                # The location is as in the copy of the job directory.
                store.execute("UPDATE experiments SET artifact_location = 'mlflow-artifacts/0'")
                store.execute("UPDATE runs SET artifact_uri = 'mlflow-artifacts/0/1/artifacts'")
                store.close()
                self.open(self.uri)
                with sqlite3.connect(self.database) as connection:
                    (location,) = connection.execute('SELECT artifact_location FROM experiments').fetchone()
                    (uri,) = connection.execute('SELECT artifact_uri FROM runs').fetchone()
                connection.close()
                self.assertEqual(location, f'{self.output}/mlflow-artifacts/0')
                self.assertEqual(uri, f'{self.output}/mlflow-artifacts/0/1/artifacts')
                self.database.unlink()


if __name__ == '__main__':
    unittest.main()
