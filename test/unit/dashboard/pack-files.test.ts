import { gunzipSync } from 'node:zlib';
import { extract } from 'tar-stream';
import { expect, it } from 'vitest';
import { chooseFiles } from '#dashboard/screens/drop/chosen-files.ts';
import { packFiles } from '#dashboard/screens/drop/pack-files.ts';

async function unpack(archive: Blob): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const reader = extract();
  reader.end(gunzipSync(await archive.arrayBuffer()));
  for await (const entry of reader) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry as AsyncIterable<Buffer>) {
      chunks.push(chunk);
    }
    files[entry.header.name] = Buffer.concat(chunks).toString();
  }
  return files;
}

it('packs files of any size, and names that are long or not ASCII', async () => {
  const long = `${'folder/'.repeat(30)}task.py`;
  const files: Record<string, string> = {
    'a.py': 'a',
    [long]: 'b'.repeat(512),
    'größe/データ.py': '',
    'c.txt': 'c'.repeat(1_000),
  };
  const entries = Object.entries(files).map(([path, text]) => ({ path, content: new Blob([text]) }));
  expect(await unpack(await packFiles(entries))).toEqual(files);
});

it('makes the same archive of the same files', async () => {
  const entries = [{ path: 'a.py', content: new Blob(['x']) }];
  const [one, other] = [await packFiles(entries), await packFiles(entries)];
  expect(Buffer.from(await one.arrayBuffer())).toEqual(Buffer.from(await other.arrayBuffer()));
});

function fileAt(path: string): File {
  const file = new File(['x'], path.split('/').at(-1) ?? path);
  return Object.assign(file, { webkitRelativePath: path.includes('/') ? path : '' });
}

const pathsOf = (paths: readonly string[]) => {
  const chosen = chooseFiles(paths.map(fileAt));
  return chosen.kind === 'FILES' ? chosen.files.map(({ path }) => path) : chosen.kind;
};

it('leaves out what the command line leaves out', () => {
  const kept = ['p/job.yaml', 'p/trainer/task.py'];
  const left = ['p/.git/config', 'p/trainer/__pycache__/task.pyc', 'p/x.egg-info/PKG-INFO', 'p/node_modules/a.js'];
  const environment = ['p/env/pyvenv.cfg', 'p/env/lib/site.py', 'p/gha-creds-0123456789abcdef.json'];
  expect(pathsOf([...kept, ...left, ...environment])).toEqual(['job.yaml', 'trainer/task.py']);
});

it('keeps the name of a folder that is a Python package, and uploads an archive as it is', () => {
  expect(pathsOf(['trainer/__init__.py', 'trainer/task.py'])).toEqual(['trainer/__init__.py', 'trainer/task.py']);
  expect(pathsOf(['digits.tar.gz'])).toBe('ARCHIVE');
  expect(() => pathsOf(['p/.hidden'])).toThrow(/hidden/);
});
