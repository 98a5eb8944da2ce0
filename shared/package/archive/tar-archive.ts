import { type Readable, Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGunzip, gunzipSync } from 'node:zlib';
import { type Extract, extract, type Header } from 'tar-stream';
import type { ArchiveListing, EntryKind } from '#shared/package/archive/archive-listing.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { InspectionStopped, printablePath } from '#shared/package/archive/package-problem.ts';
import type { PackageSource } from '#shared/package/archive/package-source.ts';
import { createTarCheck, type TarCheck } from '#shared/package/archive/tar-check.ts';

/**
 * The size of zlib's output chunks. Twice the default halves the cost of passing chunks between threads; larger chunks
 * gain little and keep 20 MB of buffers alive, because V8 collects off-heap memory late.
 */
const INFLATE_CHUNK_BYTES = 32 * 1_024;

/** Tars up to this size are inflated synchronously: passing chunks to zlib's threads and back takes longer. */
const SMALL_TAR_BYTES = 1_048_576;

const TAR_BLOCK_BYTES = 512;

type Progress = {
  compressedBytes: number;
  uncompressedBytes: number;
  tail: Uint8Array;
  sourceError: Error | null;
  readonly tarCheck: TarCheck;
};

type TarReading = {
  readonly source: PackageSource;
  readonly isCompressed: boolean;
  readonly listing: ArchiveListing;
};

/**
 * Reads a tar once from start to end, in bounded memory, and lists its entries, verifying the checksums of gzip and of
 * the headers. Throws InspectionStopped for an invalid archive, and any other error for a storage error.
 */
export async function readTarArchive(reading: TarReading): Promise<void> {
  const { source, listing } = reading;
  const progress: Progress = {
    compressedBytes: 0,
    uncompressedBytes: 0,
    tail: new Uint8Array(),
    sourceError: null,
    tarCheck: createTarCheck(),
  };
  const entries = extract();
  const small = await inflateSmall(reading);
  if (small !== null) {
    measure(small, source, progress);
    entries.end(small);
  }
  const pumping = small === null ? pump(await source.open(), entries, { ...reading, progress }) : undefined;
  const outcomes = await Promise.allSettled([listEntries(entries, reading), pumping]);
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  const stopped = errors.find((error) => error instanceof InspectionStopped);
  if (stopped !== undefined) {
    throw stopped;
  }
  if (progress.sourceError !== null) {
    throw progress.sourceError;
  }
  if (errors.length > 0) {
    throw toInspectionStopped(errors.at(-1), source.name, listing.contents.entryCount);
  }
  progress.tarCheck.finish();
  if (listing.contents.entryCount > 0 && progress.tail.some((byte) => byte !== 0)) {
    // POSIX.1-2017, pax: "At the end of the archive file there shall be two 512-byte blocks filled with binary zeros".
    throw new InspectionStopped('ARCHIVE_TRUNCATED', `${printablePath(source.name)} has no end-of-archive marker.`);
  }
}

/** The inflated tar if it is small and valid; otherwise null, and the stream reports what is invalid. */
async function inflateSmall({ source, isCompressed }: TarReading): Promise<Uint8Array | null> {
  const bytes = isCompressed ? await source.readWhole?.() : undefined;
  if (bytes === undefined) {
    return null;
  }
  try {
    return gunzipSync(bytes, { maxOutputLength: SMALL_TAR_BYTES });
  } catch {
    return null;
  }
}

async function pump(
  bytes: Readable,
  entries: Extract,
  { source, isCompressed, progress }: TarReading & { readonly progress: Progress },
): Promise<void> {
  const countSource = createMeter({
    onChunk: (chunk) => {
      progress.compressedBytes += chunk.length;
    },
    onEnd: () => checkSourceEnd(source, progress),
  });
  bytes.once('error', (error) => {
    // A downstream error also reaches the source, which is destroyed after its readers.
    progress.sourceError = countSource.destroyed ? null : error;
  });
  const measureTar = createMeter({ onChunk: (chunk) => measure(chunk, source, progress) });
  await (isCompressed
    ? pipeline(bytes, countSource, createGunzip({ chunkSize: INFLATE_CHUNK_BYTES }), measureTar, entries)
    : pipeline(bytes, countSource, measureTar, entries));
}

type Meter = { readonly onChunk: (chunk: Uint8Array) => void; readonly onEnd?: () => void };

/** Passes each chunk to `onChunk`, which may throw to end the stream. (An async generator takes 15 MB more.) */
function createMeter({ onChunk, onEnd }: Meter): Transform {
  const attempt = (step: () => void, done: (error: Error | null) => void) => {
    try {
      step();
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    done(null);
  };
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      attempt(
        () => onChunk(chunk),
        (error) => (error === null ? done(null, chunk) : done(error)),
      );
    },
    flush(done) {
      attempt(() => onEnd?.(), done);
    },
  });
}

/** Distinguishes an interrupted download from a truncated archive. */
function checkSourceEnd({ name, sizeBytes }: PackageSource, progress: Progress): void {
  if (progress.compressedBytes !== sizeBytes) {
    progress.sourceError = new Error(`Reading ${name} ended after ${progress.compressedBytes} of ${sizeBytes} bytes.`);
    throw progress.sourceError;
  }
}

function measure(chunk: Uint8Array, { sizeBytes }: PackageSource, progress: Progress): void {
  const { uncompressedBytesMax, compressionRatioMax, compressionRatioCountsFromBytes } = PACKAGE_LIMITS;
  progress.uncompressedBytes += chunk.length;
  progress.tarCheck.check(chunk);
  if (progress.uncompressedBytes > Math.max(compressionRatioCountsFromBytes, sizeBytes * compressionRatioMax)) {
    const message = `The archive inflates to more than ${compressionRatioMax} times its ${sizeBytes} bytes.`;
    throw new InspectionStopped('ARCHIVE_BOMB', message);
  }
  if (progress.uncompressedBytes > uncompressedBytesMax) {
    throw new InspectionStopped(
      'ARCHIVE_TOO_LARGE',
      `The archive inflates to more than ${uncompressedBytesMax} bytes.`,
    );
  }
  const last = chunk.length >= TAR_BLOCK_BYTES ? chunk : Buffer.concat([progress.tail, chunk]);
  progress.tail = Uint8Array.from(last.subarray(-TAR_BLOCK_BYTES));
}

async function listEntries(entries: Extract, { listing }: TarReading): Promise<void> {
  for await (const entry of entries) {
    const { name: rawPath, size: sizeBytes = 0, linkname } = entry.header;
    const kind = kindOf(entry.header);
    const path = listing.admit({ rawPath, kind, sizeBytes, target: linkname ?? '' });
    if (path !== null && kind === 'file' && listing.needsText(path, sizeBytes)) {
      listing.addText(path, await buffer(entry));
    } else {
      entry.resume();
    }
  }
}

/**
 * Types of other tar variants (GNU's sparse files and volume labels) are treated as special: pip does not support them.
 */
function kindOf({ type, pax }: Header): EntryKind {
  if (Object.keys(pax ?? {}).some((key) => key.startsWith('GNU.sparse.'))) {
    return 'special';
  }
  switch (type) {
    case 'file':
    case 'contiguous-file':
      return 'file';
    case 'directory':
      return 'directory';
    case 'symlink':
      return 'symbolic-link';
    case 'link':
      return 'hard-link';
    default:
      return 'special';
  }
}

/** Converts an error of zlib or tar-stream. */
function toInspectionStopped(error: unknown, name: string, entryCount: number): InspectionStopped {
  const reason = error instanceof Error ? error.message : String(error);
  if (/unexpected end/i.test(reason)) {
    return new InspectionStopped(
      'ARCHIVE_TRUNCATED',
      `${printablePath(name)} is truncated after ${entryCount} entries.`,
    );
  }
  if (entryCount === 0 && /tar header/i.test(reason)) {
    return new InspectionStopped('NOT_AN_ARCHIVE', `${printablePath(name)} is not a tar archive: ${reason}`);
  }
  return new InspectionStopped(
    'ARCHIVE_CORRUPT',
    `${printablePath(name)} is damaged after ${entryCount} entries: ${reason}`,
  );
}
