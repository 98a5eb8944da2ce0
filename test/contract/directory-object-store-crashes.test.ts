import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { DEFAULT_ATTRIBUTES } from '../../infra/embedded/cloud-storage/store/stored-object.ts';
import {
  makeDirectoryForEachTest,
  object,
  readText,
  write,
} from '../support/contract/directory-object-store-under-test.ts';

describe('a directory of objects', () => {
  const { directory, open, countBlobs } = makeDirectoryForEachTest();

  it('has all objects after it is reopened', async () => {
    const info = await write(open().store, 'kept');
    const { store } = open();
    expect(await store.stat(object)).toEqual(info);
    expect(await readText(store)).toBe('kept');
  });

  it('removes files orphaned by a crash at the next start, and no others', async () => {
    const { store } = open();
    await write(store, 'kept');
    const uploadId = await store.uploads.start({
      target: object,
      attributes: DEFAULT_ATTRIBUTES,
      preconditions: {},
      expected: {},
    });
    const body = Readable.from([Buffer.from('half')]);
    await store.uploads.append(uploadId, { startByte: 0, sizeBytes: 8, isLast: false, body, expected: {} });
    await writeFile(join(directory(), 'incoming', 'cut-off'), 'partial');
    await writeFile(join(directory(), 'blobs', 'never-committed'), 'whole');
    const again = open().store;
    expect(await readdir(join(directory(), 'incoming'))).toEqual([uploadId]);
    expect(await countBlobs()).toBe(1);
    expect(await readText(again)).toBe('kept');
    const rest = {
      startByte: 4,
      sizeBytes: 8,
      isLast: false,
      body: Readable.from([Buffer.from('+end')]),
      expected: {},
    };
    expect(await again.uploads.append(uploadId, rest)).toMatchObject({ state: 'DONE' });
    expect(await readText(again)).toBe('half+end');
  });

  it('loses no acknowledged object on kill -9 at any moment', async () => {
    const script = join(import.meta.dirname, '../support/contract/write-objects-process.ts');
    for (let round = 0; round < 3; round++) {
      const writer = spawn(process.execPath, [script, directory()], { stdio: ['ignore', 'pipe', 'inherit'] });
      let acknowledged = '';
      writer.stdout.on('data', (chunk: Buffer) => {
        acknowledged += chunk;
        if (acknowledged.split('\n').length > 15 + round * 10) {
          writer.kill('SIGKILL');
        }
      });
      const [, signal] = await once(writer, 'close');
      expect(signal).toBe('SIGKILL');
      const { store } = open();
      const names = acknowledged.split('\n').slice(0, -1);
      expect(names.length).toBeGreaterThan(10);
      for (const name of names) {
        const bytes = await store.read({ bucket: 'crash', name });
        expect(bytes && (await text(bytes))).toBe(name.repeat(1_000));
      }
      const listed = await store.list({ bucket: 'crash', prefix: '', countMax: 10_000 });
      expect(await countBlobs()).toBe(listed.length);
      expect(await readdir(join(directory(), 'incoming'))).toEqual([]);
    }
  });
});
