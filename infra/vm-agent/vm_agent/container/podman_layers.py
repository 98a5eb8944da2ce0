"""
Deletes what a pull of Podman has left. Podman keeps the complete layers of an image whose pull failed, for the next
try, and has no command that deletes layers without an image.
"""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence

from vm_agent.container.engine import Engine

OCI = 'application/vnd.oci.image'


def delete_layers(engine: Engine, storage: Path, digests: Sequence[str], folder: Path) -> None:
    """
    Deletes the layers with these digests (compressed) that no other image has: makes an image of them in `folder`,
    which Podman reads without copying a layer that it has, and deletes that. Another pull that is about to use one of
    them fails with "layer not known", and is tried again.
    """
    # Podman deletes an incomplete layer when it opens its storage.
    engine.run_tool(['image', 'ls', '--quiet'])
    layers = _find_chain(storage, digests)
    if not layers:
        return
    layout = folder / 'layers-without-image'
    try:
        _write_layout(layout, layers)
        pulled = engine.run_tool(['pull', '--quiet', f'oci:{layout}'])
        if pulled.is_success:
            engine.run_tool(['image', 'rm', '--force', pulled.stdout.split()[-1]])
    finally:
        shutil.rmtree(layout, ignore_errors=True)


def _find_chain(storage: Path, digests: Sequence[str]) -> List[Mapping[str, Any]]:
    """Returns Podman's records of complete layers from the lowest one, each the parent of the next."""
    drivers = sorted(storage.glob('*-layers/layers.json'))
    try:
        records = [record for file in drivers for record in json.loads(file.read_text('utf-8'))]
    except (OSError, ValueError):
        return []
    chain: List[Mapping[str, Any]] = []
    parent = ''
    while True:
        for record in records:
            is_next = record.get('parent', '') == parent and record.get('compressed-diff-digest') in digests
            if is_next and not (record.get('flags') or {}).get('incomplete'):
                chain.append(record)
                parent = str(record['id'])
                break
        else:
            return chain


def _write_layout(folder: Path, layers: Sequence[Mapping[str, Any]]) -> None:
    """Writes an image without the layers themselves (OCI Image Layout Specification)."""
    blobs = folder / 'blobs' / 'sha256'
    blobs.mkdir(parents=True)

    def write(kind: str, body: Mapping[str, Any]) -> Dict[str, Any]:
        data = json.dumps(body).encode()
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {'mediaType': f'{OCI}.{kind}.v1+json', 'digest': f'sha256:{digest}', 'size': len(data)}

    diff_ids = [layer['diff-digest'] for layer in layers]
    config = {'architecture': 'amd64', 'os': 'linux', 'rootfs': {'type': 'layers', 'diff_ids': diff_ids}}
    described = [
        {
            'mediaType': f'{OCI}.layer.v1.tar+gzip',
            'digest': layer['compressed-diff-digest'],
            'size': layer.get('compressed-size', 0),
        }
        for layer in layers
    ]
    manifest = write('manifest', {'schemaVersion': 2, 'config': write('config', config), 'layers': described})
    (folder / 'index.json').write_text(json.dumps({'schemaVersion': 2, 'manifests': [manifest]}))
    (folder / 'oci-layout').write_text('{"imageLayoutVersion": "1.0.0"}')
