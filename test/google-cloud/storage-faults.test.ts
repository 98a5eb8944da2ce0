import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createObjectClient, type ObjectClient } from '#cli/client/object-client.ts';
import { RETRY_OPTIONS } from '#infra/google-cloud/cloud-storage/retries.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { type Fault, type Operation, SHORT_RETRIES } from '../support/google-cloud/storage-faults.ts';
import { openStorageUnderTest, type StorageUnderTest } from '../support/google-cloud/storage-under-test.ts';

const BUCKET = 'uploads';
const BYTES = randomBytes(270_000);
const TRIES_COUNT_MAX = 1 + RETRY_OPTIONS.maxRetries;
const OTHERS = Buffer.from('of another writer');

const ANSWERS = [408, 429, 500, 502, 503, 504].map((status): Fault => ({ kind: 'STATUS', status }));
const FAULTS: readonly Fault[] = [...ANSWERS, { kind: 'RESET' }, { kind: 'BROKEN', afterBytes: 4 }];

let cloud: StorageUnderTest;
let cli: ObjectClient;
let ordinal = 0;
beforeAll(async () => {
  cloud = await openStorageUnderTest();
  cloud.embedded.createBucket(BUCKET);
  cli = createObjectClient({ storage: cloud.url, projectId: 'p' }, SHORT_RETRIES);
});
afterAll(() => cloud.close());

function newName(): ObjectName {
  ordinal += 1;
  return { bucket: BUCKET, name: `object-${String(ordinal).padStart(4, '0')}` };
}

/** An object that is stored already. */
async function stored(bytes: Uint8Array): Promise<ObjectName> {
  const object = newName();
  await cloud.embedded.write(object, bytes);
  return object;
}

const digestOf = (bytes: Uint8Array) => `${bytes.length} bytes, ${createHash('md5').update(bytes).digest('hex')}`;
const stream = () => Readable.from([BYTES.subarray(0, 100_000), BYTES.subarray(100_000)]);

async function expectBytes(found: Readable | AsyncIterable<Uint8Array> | undefined, bytes: Uint8Array): Promise<void> {
  expect(found && digestOf(await buffer(Readable.from(found)))).toBe(digestOf(bytes));
}

/** Every generation of the object, the oldest first, has these bytes. */
async function expectGenerations({ bucket, name }: ObjectName, ...bytes: readonly Uint8Array[]): Promise<void> {
  const { objects } = cloud.embedded.page({ bucket, prefix: name, countMax: 10, isWithNoncurrent: true });
  const found = objects.map(async ({ generation }) => {
    const content = await cloud.embedded.read({ bucket, name }, { generation });
    return content && digestOf(await buffer(content));
  });
  expect(await Promise.all(found)).toEqual(bytes.map(digestOf));
}

/** Writes to the object store, which returns the live generation. */
async function writes(object: ObjectName, body: Uint8Array | (() => Readable), ifGeneration?: string): Promise<void> {
  const written = await cloud.store.write(object, body, ifGeneration === undefined ? {} : { ifGeneration });
  expect(written).toEqual(expect.objectContaining({ generation: (await cloud.embedded.stat(object))?.generation }));
}

type Row = readonly [name: string, faulty: readonly Operation[], run: () => Promise<void>];

const STORE: readonly Row[] = [
  ['stat', ['stat'], async () => expect(await cloud.store.stat(await stored(OTHERS))).toMatchObject({ sizeBytes: 17 })],
  ['whether a bucket exists', ['list'], async () => expect(await cloud.store.hasBucket(BUCKET)).toBe(true)],
  [
    'list',
    ['list'],
    async () => {
      const { name } = await stored(OTHERS);
      expect(await cloud.store.list({ bucket: BUCKET, prefix: name, countMax: 2 })).toMatchObject([{ name }]);
    },
  ],
  ['read', ['stat', 'media'], async () => expectBytes(await cloud.store.read(await stored(BYTES)), BYTES)],
  [
    'read a range',
    ['media'],
    async () => {
      const range = { startByte: 10, endByte: 200_000 };
      await expectBytes(await cloud.store.read(await stored(BYTES), { range }), BYTES.subarray(10, 200_000));
    },
  ],
  [
    'write bytes',
    ['stat', 'insert'],
    async () => {
      const object = await stored(OTHERS);
      await writes(object, BYTES);
      await expectGenerations(object, OTHERS, BYTES);
    },
  ],
  [
    'write bytes as a new object',
    ['insert'],
    async () => {
      const object = newName();
      await writes(object, BYTES, '0');
      await expectGenerations(object, BYTES);
    },
  ],
  [
    'write a stream',
    ['stat', 'start'],
    async () => {
      const object = await stored(OTHERS);
      await writes(object, stream);
      await expectGenerations(object, OTHERS, BYTES);
    },
  ],
  [
    'write a stream as a new object',
    ['chunk'],
    async () => {
      const object = newName();
      await writes(object, stream, '0');
      await expectGenerations(object, BYTES);
    },
  ],
  [
    'replace an object by the same bytes',
    ['insert'],
    async () => {
      const object = await stored(BYTES);
      await writes(object, BYTES);
      await expectGenerations(object, BYTES, BYTES);
    },
  ],
  [
    'leave the object of another writer',
    ['insert'],
    async () => {
      const object = await stored(OTHERS);
      expect(await cloud.store.write(object, Buffer.from('new'), { ifGeneration: '0' })).toBe('CONFLICT');
      await expectGenerations(object, OTHERS);
    },
  ],
];

const CLI: readonly Row[] = [
  ['list buckets', ['buckets'], async () => expect(await cli.listBuckets()).toEqual([BUCKET])],
  [
    'find',
    ['list'],
    async () => {
      const object = await stored(OTHERS);
      expect(await cli.find(object, { isRecursive: false })).toMatchObject([object]);
    },
  ],
  [
    'list a folder',
    ['list'],
    async () => expect(await cli.listFolder({ bucket: BUCKET, name: 'none' })).toEqual({ objects: [], folders: [] }),
  ],
  [
    'read text',
    ['stat', 'media'],
    async () => expect(await cli.readText(await stored(OTHERS))).toBe('of another writer'),
  ],
  ['read text that is missing', ['stat'], async () => expect(await cli.readText(newName())).toBeUndefined()],
  ['open', ['stat', 'media'], async () => expectBytes(cli.open(await stored(BYTES)), BYTES)],
  [
    'write bytes as a new object',
    ['insert'],
    async () => {
      const object = newName();
      expect(await cli.write(object, BYTES, { isNew: true })).toBe('written');
      await expectGenerations(object, BYTES);
    },
  ],
  [
    'leave the object of another writer',
    ['insert'],
    async () => {
      const object = await stored(OTHERS);
      expect(await cli.write(object, Buffer.from('new'), { isNew: true })).toBe('exists');
      await expectGenerations(object, OTHERS);
    },
  ],
  [
    'write a stream',
    ['stat', 'chunk'],
    async () => {
      const object = await stored(OTHERS);
      expect(await cli.write(object, stream)).toBe('written');
      await expectGenerations(object, OTHERS, BYTES);
    },
  ],
  [
    'copy',
    ['stat', 'copy'],
    async () => {
      const [from, to] = [await stored(OTHERS), newName()];
      await cli.copy(from, to);
      await expectGenerations(to, OTHERS);
    },
  ],
  [
    'delete',
    ['delete'],
    async () => {
      const object = await stored(OTHERS);
      await cli.delete(object);
      expect(await cloud.embedded.stat(object)).toBeUndefined();
      await expectGenerations(object, OTHERS);
    },
  ],
];

const OPERATIONS = [
  ...STORE.map((row) => ['object store', ...row] as const),
  ...CLI.map((row) => ['CLI', ...row] as const),
];

function nameOf(fault: Fault): string {
  switch (fault.kind) {
    case 'STATUS':
      return `is answered ${fault.status}`;
    case 'RESET':
      return 'is reset';
    case 'BROKEN':
      return `is performed, and its answer breaks off after ${fault.afterBytes} bytes`;
    case 'EMPTY':
    case 'STALL':
      return 'is answered without bytes, or not at all';
    case 'PARTIAL':
      return `is answered 503 after ${fault.afterBytes} bytes`;
  }
}

async function expectUnder(fault: Fault, [, operations, run]: Row): Promise<void> {
  for (const operation of operations) {
    cloud.faulty.inject(operation, fault, 2);
  }
  try {
    await run();
    expect(cloud.faulty.unseen()).toEqual([]);
  } finally {
    cloud.faulty.clear();
  }
}

describe.each(FAULTS.map((fault) => [nameOf(fault), fault] as const))('once a request %s, twice', (_, fault) => {
  // The CLI's client repeats requests by the same functions, which the object store's rows show with every status.
  const isOfBoth = fault.kind !== 'STATUS' || [429, 503].includes(fault.status);
  const rows = OPERATIONS.filter(([client]) => isOfBoth || client === 'object store');
  it.each(rows)('%s: %s', (...[, ...row]) => expectUnder(fault, row));
});

describe('an upload', () => {
  it.each([
    ['object store', STORE.find(([name]) => name === 'write a stream as a new object')],
    ['CLI', CLI.find(([name]) => name === 'write a stream')],
  ])('of the %s that is answered 503 after 256 KiB, twice, is written once', async (_, row) => {
    expect(row).toBeDefined();
    await (row && expectUnder({ kind: 'PARTIAL', afterBytes: 262_144 }, row));
  });
});

describe('a read', () => {
  const breaksOff = (count: number) => cloud.faulty.inject('media', { kind: 'BROKEN', afterBytes: 20_000 }, count);
  afterEach(() => cloud.faulty.clear());

  it('continues at the byte that it has reached, however often it breaks off', async () => {
    breaksOff(12);
    await expectBytes(await cloud.store.read(await stored(BYTES)), BYTES);
    expect(cloud.faulty.unseen()).toEqual([]);
  });

  it('has the bytes of one generation, although the object is replaced after it has broken off', async () => {
    const object = await stored(BYTES);
    breaksOff(1);
    const bytes = await cloud.store.read(object);
    bytes?.once('data', () => void cloud.embedded.write(object, randomBytes(270_000)));
    expect(digestOf(await buffer(bytes ?? Readable.from([])))).toBe(digestOf(BYTES));
  });

  it('repeats an answer without bytes as often as an error', async () => {
    cloud.faulty.inject('media', { kind: 'EMPTY' }, 100);
    const bytes = await cloud.store.read(await stored(BYTES));
    await expect(bytes && buffer(bytes)).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
  });

  it('fails with the last error after its tries', async () => {
    cloud.faulty.inject('media', { kind: 'STATUS', status: 503 }, 100);
    const bytes = await cloud.store.read(await stored(BYTES));
    await expect(bytes && buffer(bytes)).rejects.toMatchObject({ code: 503 });
    expect(cloud.faulty.operations.slice(-TRIES_COUNT_MAX - 1).filter((one) => one === 'media')).toHaveLength(
      TRIES_COUNT_MAX,
    );
  });

  it.each([
    ['unread', 0, undefined],
    ['before its answer', 1, undefined],
    ['before its answer, by an error', 1, new Error('The reader failed.')],
    ['after its first bytes', 2, undefined],
  ])('may be abandoned: %s', async (...[, progress, error]) => {
    const bytes = await cloud.store.read(await stored(BYTES));
    const failed = new Promise((resolve) => bytes?.once('close', resolve).on('error', () => {}));
    if (progress === 1) {
      bytes?.read();
    } else if (progress === 2) {
      await new Promise((resolve) => bytes?.once('data', resolve));
    }
    bytes?.destroy(error);
    await failed;
  });
});
