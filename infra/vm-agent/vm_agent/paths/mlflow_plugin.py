"""
A plugin of MLflow (mlflow.org, "MLflow Plugins"), which builds its stores for databases of SQLite. It works in the
program's interpreter, of any version from Python 3.7 on, and imports nothing of the agent.
"""

# MLflow is the program's.
# pyright: reportMissingImports=false

import fcntl
import os
import subprocess
import sys

ARTIFACTS = 'mlflow-artifacts'
# Where the database says where artifacts are; the last table exists from MLflow 3 on.
LOCATIONS = (('experiments', 'artifact_location'), ('runs', 'artifact_uri'), ('logged_models', 'artifact_location'))


def build_store(store_uri: str, artifact_uri: 'str | None' = None) -> object:
    """Returns MLflow's own store. That of the job has its artifacts in the output directory."""
    output = os.environ.get('DROPFORGE_OUTPUT_DIR', '')
    database = os.path.join(os.path.dirname(os.environ.get('DROPFORGE_METRICS_FILE', '')), 'mlflow.db')
    if not output or store_uri != f'sqlite:///{database}':
        return _open(store_uri, artifact_uri)
    # MLflow of some versions fails if two processes create its tables at once.
    with open(f'{database}.lock', 'ab') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if os.path.exists(database):
                _place_artifacts(database, output)
            return _open_or_upgrade(store_uri, artifact_uri or os.path.join(output, ARTIFACTS))
        except ImportError as error:
            return _open_files(os.path.join(output, 'mlruns'), error)


def _open(store_uri: str, artifact_uri: 'str | None') -> object:
    from mlflow.tracking._tracking_service.utils import _get_sqlalchemy_store

    return _get_sqlalchemy_store(store_uri, artifact_uri)


def _open_or_upgrade(store_uri: str, artifact_uri: str) -> object:
    """An earlier job or attempt may have had another version of MLflow."""
    try:
        return _open(store_uri, artifact_uri)
    except Exception as error:
        if 'out-of-date database schema' not in str(error):
            raise
        if subprocess.call([sys.executable, '-m', 'mlflow', 'db', 'upgrade', store_uri]) != 0:
            raise
    return _open(store_uri, artifact_uri)


def _open_files(folder: str, error: ImportError) -> object:
    """MLflow without SQLAlchemy, such as mlflow-skinny, can only write files."""
    print(
        f'MLflow: {error}. The runs are kept as files, in mlruns of the job directory, and have no curves in '
        'Dropforge: add mlflow in place of mlflow-skinny, or sqlalchemy and alembic, to the requirements.',
        file=sys.stderr,
    )
    # Required from MLflow 3.13 on.
    os.environ.setdefault('MLFLOW_ALLOW_FILE_STORE', 'true')
    from mlflow.store.tracking.file_store import FileStore

    return FileStore(folder, folder)


def _place_artifacts(database: str, output: str) -> None:
    """The copy of the database in the job directory names artifacts by paths relative to it."""
    import sqlite3

    connection = sqlite3.connect(database, timeout=20)
    try:
        with connection:
            for table, column in LOCATIONS:
                is_relative = f"{column} LIKE '{ARTIFACTS}/%'"
                try:
                    # Without anything to change, no lock is taken.
                    if connection.execute(f'SELECT 1 FROM {table} WHERE {is_relative}').fetchone():
                        statement = f'UPDATE {table} SET {column} = ? || {column} WHERE {is_relative}'
                        connection.execute(statement, (os.path.join(output, ''),))
                except sqlite3.OperationalError as error:
                    if 'no such' not in str(error):
                        raise
    finally:
        connection.close()
