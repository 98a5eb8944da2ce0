"""Installs `mlflow_plugin` where the interpreter of the program finds it; without MLflow, nothing loads it."""

from pathlib import Path

from vm_agent.paths.installer import read_source

MODULE = 'dropforge_mlflow'
# packaging.python.org/specifications/entry-points. Without a RECORD, the module is not taken for a requirement of the
# models that the program logs.
METADATA = f'Metadata-Version: 2.1\nName: {MODULE}\nVersion: 1.0\n'
ENTRY_POINTS = f'[mlflow.tracking_store]\nsqlite = {MODULE}:build_store\n'


def install_mlflow_plugin(folder: Path) -> None:
    """`folder` is one of the folders that the interpreter imports from. Raises OSError."""
    description = folder / f'{MODULE}-1.0.dist-info'
    description.mkdir(parents=True, exist_ok=True)
    (description / 'METADATA').write_text(METADATA, 'utf-8')
    (description / 'entry_points.txt').write_text(ENTRY_POINTS, 'utf-8')
    (folder / f'{MODULE}.py').write_bytes(read_source('mlflow_plugin'))
