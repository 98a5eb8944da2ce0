"""
A program that uses gs:// paths as programs on Google Cloud do, by every client named in its arguments: each is a
function below. Prints `passed NAME`, or the traceback. Writes below the job directory and to another bucket.
"""

import io
import os
import subprocess
import sys
import tempfile
import time
import traceback

JOB_DIR = os.environ['AIP_MODEL_DIR'].rsplit('/model/', 1)[0]
OTHER = 'other-data'
# More than a chunk of each client.
LARGE = os.urandom(4096) * 3000


def google_cloud_storage():
    from google.cloud import storage

    client = storage.Client()
    bucket = client.bucket(OTHER)
    bucket.blob('gcs/a b.txt').upload_from_string('hello')
    assert bucket.blob('gcs/a b.txt').download_as_text() == 'hello'
    large = bucket.blob('gcs/large', chunk_size=4 << 20)
    large.upload_from_file(io.BytesIO(LARGE))
    assert bucket.blob('gcs/large').download_as_bytes() == LARGE
    assert [blob.name for blob in client.list_blobs(OTHER, prefix='gcs/')] == ['gcs/a b.txt', 'gcs/large']
    with client.batch():
        bucket.delete_blob('gcs/large')
    assert not bucket.blob('gcs/large').exists()
    assert large.public_url.startswith('https://storage.googleapis.com/')


def gcsfs():
    import fsspec

    with fsspec.open(f'gs://{OTHER}/fs/large', 'wb', block_size=5 << 20) as file:
        file.write(LARGE)
    with fsspec.open(f'gs://{OTHER}/fs/large') as file:
        assert file.read() == LARGE
    files = fsspec.filesystem('gs')
    assert files.ls(f'{OTHER}/fs') == [f'{OTHER}/fs/large']
    files.rm(f'{OTHER}/fs/large')
    assert not files.exists(f'{OTHER}/fs/large')


def pandas():
    import pandas

    frame = pandas.DataFrame({'a': range(200_000), 'b': 'x'})
    frame.to_csv(f'gs://{OTHER}/frames/f.csv', index=False)
    assert pandas.read_csv(f'gs://{OTHER}/frames/f.csv').equals(frame)


def tensorflow_files():
    import tensorflow as tf

    root = f'gs://{OTHER}/tf'
    files = tf.io.gfile
    files.makedirs(f'{root}/sub')
    with files.GFile(f'{root}/sub/a', 'w') as file:
        file.write('one')
    with files.GFile(f'{root}/sub/a', 'a') as file:
        file.write('two')
    assert files.GFile(f'{root}/sub/a').read() == 'onetwo'
    with files.GFile(f'{root}/large', 'wb') as file:
        file.write(LARGE)
    assert files.GFile(f'{root}/large', 'rb').read() == LARGE
    assert files.stat(f'{root}/large').length == len(LARGE)
    files.copy(f'{root}/sub/a', f'{root}/sub/b')
    files.rename(f'{root}/sub/b', f'{root}/sub/c')
    assert sorted(files.listdir(f'{root}/sub')) == ['a', 'c'] and len(files.glob(f'{root}/sub/*')) == 2
    files.remove(f'{root}/large')
    files.rmtree(f'{root}/sub')
    with tf.io.TFRecordWriter(f'{root}/r.tfrecord') as writer:
        writer.write(b'record')
    assert [item.numpy() for item in tf.data.TFRecordDataset(f'{root}/r.tfrecord')] == [b'record']


def keras():
    import keras
    import numpy

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile('sgd', 'mse')
    callbacks = [
        keras.callbacks.ModelCheckpoint(f'{JOB_DIR}/keras/{{epoch}}.weights.h5', save_weights_only=True),
        keras.callbacks.BackupAndRestore(f'{JOB_DIR}/keras/backup'),
        keras.callbacks.TensorBoard(os.environ['AIP_TENSORBOARD_LOG_DIR']),
    ]
    model.fit(numpy.ones((8, 2)), numpy.ones(8), epochs=2, verbose=0, callbacks=callbacks)
    model.save(f'{JOB_DIR}/keras/model.keras')
    loaded = keras.models.load_model(f'{JOB_DIR}/keras/model.keras')
    assert (loaded.predict(numpy.ones((1, 2)), verbose=0) == model.predict(numpy.ones((1, 2)), verbose=0)).all()
    by_path = JOB_DIR.replace('gs://', '/gcs/') + '/by-path/w.weights.h5'
    model.save_weights(by_path)
    model.load_weights(by_path)
    model.export(os.environ['AIP_MODEL_DIR'], verbose=False)


def saved_model():
    import tensorflow as tf

    model = tf.Module()
    model.v = tf.Variable(3.0)
    tf.saved_model.save(model, f'{JOB_DIR}/saved')
    assert tf.saved_model.load(f'{JOB_DIR}/saved').v.numpy() == 3.0
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=model.v), f'{JOB_DIR}/ckpt', max_to_keep=1)
    manager.save()
    assert manager.restore_or_initialize().endswith('ckpt-1')
    writer = tf.summary.create_file_writer(os.environ['AIP_TENSORBOARD_LOG_DIR'])
    with writer.as_default():
        tf.summary.scalar('loss', 1.0, step=1)
    writer.close()
    assert tf.io.gfile.glob(os.environ['AIP_TENSORBOARD_LOG_DIR'] + '*tfevents*')


def torch_summary():
    _write_torch_summary('with-tensorflow')


def torch_summary_without_tensorflow():
    _run_without(['tensorflow'])


def torch_summary_without_any_client():
    _run_without(['tensorflow', 'gcsfs', 'google.cloud'])


def _run_without(modules):
    blocked = ''.join(f'sys.modules[{name!r}] = None; ' for name in modules)
    name = '-'.join(['without', *modules])
    code = f'import sys, runpy; {blocked}runpy.run_path({__file__!r})["_write_torch_summary"]({name!r})'
    subprocess.run([sys.executable, '-c', code], check=True)


def _write_torch_summary(name):
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(os.environ['AIP_TENSORBOARD_LOG_DIR'] + name) as writer:
        for step in range(3):
            writer.add_scalar('loss', 1.0 / (step + 1), step)


def orbax():
    import jax.numpy
    import orbax.checkpoint as ocp
    from etils import epath

    path = epath.Path(f'gs://{OTHER}/epath/x.txt')
    path.write_text('etils')
    assert path.read_text() == 'etils'
    with ocp.CheckpointManager(f'{JOB_DIR}/orbax') as manager:
        manager.save(1, args=ocp.args.StandardSave({'w': jax.numpy.arange(4.0)}))
        manager.wait_until_finished()
        assert manager.restore(1, args=ocp.args.StandardRestore({'w': jax.numpy.zeros(4)}))['w'][3] == 3.0


def gcloud():
    _copy_with(['gcloud', 'storage'])


def gsutil():
    _copy_with(['gsutil', '-q'])


def _copy_with(command):
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, 'source'), os.path.join(folder, 'target')
        with open(source, 'wb') as file:
            file.write(LARGE)
        uri = f'gs://{OTHER}/{command[0]}/large'
        subprocess.run([*command, 'cp', source, uri], check=True, stdin=subprocess.DEVNULL)
        listed = subprocess.run([*command, 'ls', uri], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert listed.strip() == uri
        subprocess.run([*command, 'cp', uri, target], check=True, stdin=subprocess.DEVNULL)
        with open(target, 'rb') as file:
            assert file.read() == LARGE


def urllib():
    from urllib.request import Request, urlopen

    _put('plain.txt', b'plain')
    assert urlopen(f'https://{OTHER}.storage.googleapis.com/plain.txt').read() == b'plain'
    token = Request('http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token')
    token.add_header('Metadata-Flavor', 'Google')
    assert b'access_token' in urlopen(token).read()


def plain_open():
    """Python's own functions, on gs:// and on Vertex AI's /gcs."""
    import glob
    import pathlib

    _put('paths/a.csv', b'1,2\n')
    _put('paths/deep/b c.bin', LARGE)
    for root in (f'gs://{OTHER}', f'/gcs/{OTHER}'):
        with open(f'{root}/paths/a.csv') as file:
            assert file.read() == '1,2\n'
        assert pathlib.Path(root, 'paths', 'deep', 'b c.bin').read_bytes() == LARGE
        assert os.path.getsize(f'{root}/paths/deep/b c.bin') == len(LARGE)
        assert os.path.isdir(f'{root}/paths') and not os.path.exists(f'{root}/missing')
        assert glob.glob(f'{root}/paths/*.csv') == [f'{root}/paths/a.csv']
        assert [entry.name for entry in os.scandir(f'{root}/paths') if entry.is_dir()] == ['deep']
        try:
            open(f'{root}/paths/none')
            raise AssertionError('opened')
        except FileNotFoundError:
            pass
    # The job directory, which is local: what is written there is saved with the job's outputs.
    job = JOB_DIR.replace('gs://', '/gcs/')
    os.makedirs(f'{job}/by-path', exist_ok=True)
    with open(f'{job}/by-path/result.txt', 'w') as file:
        file.write('saved')


def _put(name, data):
    from urllib.parse import quote
    from urllib.request import Request, urlopen

    url = f'https://storage.googleapis.com/{OTHER}/{quote(name)}'
    assert urlopen(Request(url, data=data, method='PUT')).status == 200


def torch_save():
    import torch

    path = JOB_DIR.replace('gs://', '/gcs/') + '/by-path/model.pt'
    torch.save({'w': torch.ones(3)}, path)
    assert torch.load(path)['w'].sum() == 3


def run(names):
    for name in names:
        started = time.monotonic()
        try:
            globals()[name]()
            print(f'passed {name}', flush=True)
        except Exception:
            traceback.print_exc()
        print(f'{name} took {time.monotonic() - started:.1f} s', flush=True)


if __name__ == '__main__':
    run(name for name in sys.argv[1:] if not name.startswith('--'))
