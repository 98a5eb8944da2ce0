import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream, globSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { pack } from 'tar-stream';
import * as z from 'zod';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import type { BenchRow } from './bench-row.ts';

const ARCHIVE_BYTES = 1_024 ** 3;
const FILE_BYTES = 256 * 1_024;
const PEAK_MEMORY_BYTES_MAX = 150_000_000;
const SPEED_RATIO_MIN = 0.8;

const childReportSchema = z.object({
  entryCount: z.int(),
  problems: z.array(z.string()),
  peakMemoryBytes: z.number(),
  cpuSeconds: z.number(),
});

/**
 * Inspects 1 GiB of source text and 1 GiB of noise, each in its own process, and compares with `tar -tzf`; then the
 * largest zip, whose CPU time the functions that inspect packages must have.
 */
export async function* benchArchiveInspection(): AsyncGenerator<BenchRow> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-bench-'));
  try {
    const text = Buffer.concat(
      await Promise.all(globSync('{shared,node_modules/zod/src}/**/*.ts').map((path) => readFile(path))),
    );
    const inspector = await bundleInspector(directory);
    for (const [name, data] of [
      ['source text', text],
      ['noise', randomBytes(16 * FILE_BYTES)],
    ] as const) {
      const path = join(directory, `${name.replace(' ', '-')}.tar.gz`);
      await writeArchive(path, data);
      yield* await compare({ name, path, inspector });
      await rm(path);
    }
    yield await measureLargest({ path: join(directory, 'largest.zip'), text, inspector });
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** CPU time rather than time: it does not depend on what else the machine does, and decides the CPUs of a function. */
async function measureLargest({ path, text, inspector }: { path: string; text: Buffer; inspector: string }) {
  const { compressedBytesMax, uncompressedBytesMax, inspectionCpuSecondsMax } = PACKAGE_LIMITS;
  await writeZip(path, text, { packedBytesMax: compressedBytesMax, bytesMax: uncompressedBytesMax });
  const { output } = await timeProcess(process.execPath, [inspector, path]);
  const { cpuSeconds, peakMemoryBytes, problems } = childReportSchema.parse(JSON.parse(output));
  if (problems.some((code) => code !== 'NOT_INSTALLABLE')) {
    throw new Error(`The inspection reports ${output}.`);
  }
  const ratio = cpuSeconds / inspectionCpuSecondsMax;
  return {
    name: 'inspect the largest zip (2 GiB with 10 GiB): CPU time',
    measured: `${cpuSeconds.toFixed(0)} s, ${(peakMemoryBytes / 1e6).toFixed(0)} MB`,
    floor: `${inspectionCpuSecondsMax} s`,
    ratio,
    goal: 'CPU time <= 1',
    isMet: ratio <= 1,
  };
}

/** Bundles the inspection as functions are deployed, so that Node's type stripping does not count as its memory. */
async function bundleInspector(directory: string): Promise<string> {
  const outfile = join(directory, 'inspect-file.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, 'inspect-file.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  return outfile;
}

type Comparison = { readonly name: string; readonly path: string; readonly inspector: string };

async function compare({ name, path, inspector }: Comparison): Promise<BenchRow[]> {
  const { size } = await stat(path);
  const listing = await timeProcess('tar', ['-tzf', path]);
  const inspection = await timeProcess(process.execPath, [inspector, path]);
  const report = childReportSchema.parse(JSON.parse(inspection.output));
  const listedCount = listing.output.trimEnd().split('\n').length;
  if (report.entryCount !== listedCount || report.problems.some((code) => code !== 'NOT_INSTALLABLE')) {
    throw new Error(`tar lists ${listedCount} entries, the inspection reports ${inspection.output}.`);
  }
  const speedRatio = listing.seconds / inspection.seconds;
  const speed = ({ seconds }: { readonly seconds: number }) => {
    return `${seconds.toFixed(2)} s, ${(size / seconds / 1e6).toFixed(0)} MB/s`;
  };
  const memoryRatio = report.peakMemoryBytes / PEAK_MEMORY_BYTES_MAX;
  return [
    {
      name: `inspect 1 GiB tar.gz of ${name} (floor: tar -tzf)`,
      measured: speed(inspection),
      floor: speed(listing),
      ratio: speedRatio,
      goal: `speed >= ${SPEED_RATIO_MIN}`,
      isMet: speedRatio >= SPEED_RATIO_MIN,
    },
    {
      name: `inspect 1 GiB tar.gz of ${name}: peak memory`,
      measured: `${(report.peakMemoryBytes / 1e6).toFixed(0)} MB`,
      floor: `${PEAK_MEMORY_BYTES_MAX / 1e6} MB`,
      ratio: memoryRatio,
      goal: 'memory <= 1',
      isMet: memoryRatio <= 1,
    },
  ];
}

async function timeProcess(command: string, args: string[]): Promise<{ seconds: number; output: string }> {
  const startedAt = performance.now();
  const { stdout } = await promisify(execFile)(command, args, { maxBuffer: 64 * 1_024 ** 2 });
  return { seconds: (performance.now() - startedAt) / 1_000, output: stdout };
}

/**
 * Writes a tar.gz that repeats the files cut from `data`. Each header and each file is a separate gzip member (RFC 1952
 * §2.2 allows any number), so that a repeated file is compressed only once.
 */
async function writeArchive(path: string, data: Buffer): Promise<void> {
  const members = Array.from({ length: Math.floor(data.length / FILE_BYTES) }, (_, index) => {
    return gzipSync(data.subarray(index * FILE_BYTES, (index + 1) * FILE_BYTES));
  });
  async function* archive() {
    let writtenBytes = 0;
    for (let count = 0; writtenBytes < ARCHIVE_BYTES; count += 1) {
      const pieces = [
        gzipSync(await headerOf(`trainer-1.0/data/${count}.txt`)),
        members[count % members.length] ?? Buffer.alloc(0),
      ];
      writtenBytes += pieces.reduce((sum, piece) => sum + piece.length, 0);
      yield* pieces;
    }
    yield gzipSync(Buffer.alloc(1_024));
  }
  await pipeline(Readable.from(archive()), createWriteStream(path));
}

/** Returns the 512-byte header that precedes a file in a tar archive. */
async function headerOf(name: string): Promise<Uint8Array> {
  const writer = pack();
  writer.entry({ name, size: FILE_BYTES }).on('error', () => undefined);
  for await (const block of writer) {
    return block as Uint8Array;
  }
  throw new Error('tar-stream wrote no header.');
}

type ZipLimits = { readonly packedBytesMax: number; readonly bytesMax: number };

/** Writes a zip that repeats the files cut from `data`, up to a limit (APPNOTE.TXT 6.3.10 §4.3.7, §4.3.12, §4.3.16). */
async function writeZip(path: string, data: Buffer, { packedBytesMax, bytesMax }: ZipLimits): Promise<void> {
  const files = Array.from({ length: Math.floor(data.length / FILE_BYTES) }, (_, index) => {
    const bytes = data.subarray(index * FILE_BYTES, (index + 1) * FILE_BYTES);
    const deflated = deflateRawSync(bytes);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(crc32(bytes), 10);
    facts.writeUInt32LE(deflated.length, 14);
    facts.writeUInt32LE(FILE_BYTES, 18);
    return { deflated, facts };
  });
  async function* archive() {
    const directory: Buffer[] = [];
    let [packedBytes, directoryBytes] = [0, 0];
    for (let count = 0; (count + 1) * FILE_BYTES <= bytesMax; count += 1) {
      const { deflated, facts } = files[count % files.length] ?? { deflated: Buffer.alloc(0), facts: Buffer.alloc(26) };
      const name = Buffer.from(`trainer-1.0/data/${count}.txt`);
      facts.writeUInt16LE(name.length, 22);
      const entry = Buffer.concat([Buffer.from('PK\x01\x02\x14\x03'), facts, Buffer.alloc(14), name]);
      entry.writeUInt32LE(packedBytes, 42);
      const local = Buffer.concat([Buffer.from('PK\x03\x04'), facts, name]);
      const bytes = local.length + deflated.length;
      if (packedBytes + bytes + directoryBytes + entry.length + 22 > packedBytesMax) {
        break;
      }
      directory.push(entry);
      packedBytes += bytes;
      directoryBytes += entry.length;
      yield* [local, deflated];
    }
    const end = Buffer.alloc(22);
    end.write('PK\x05\x06');
    end.writeUInt16LE(directory.length, 8);
    end.writeUInt16LE(directory.length, 10);
    end.writeUInt32LE(directoryBytes, 12);
    end.writeUInt32LE(packedBytes, 16);
    yield* [...directory, end];
  }
  await pipeline(Readable.from(archive()), createWriteStream(path));
}
