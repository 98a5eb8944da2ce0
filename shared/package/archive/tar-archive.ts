import { type Readable, Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGunzip, gunzipSync } from 'node:zlib';
import { type Extract, extract, type Header } from 'tar-stream';
import type { ArchiveListing, EntryKind } from '#shared/package/archive/archive-listing.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { InspectionStopped, showPath } from '#shared/package/archive/package-problem.ts';
import type { PackageSource } from '#shared/package/archive/package-source.ts';

/**
 * zlib hands out pieces of this size. Twice its default halves what passing them between threads costs; larger ones
 * gain little more and keep 20 MB of them alive, since V8 is slow to collect what lies outside its heap.
 */
const INFLATE_CHUNK_BYTES = 32 * 1_024;

/** What inflates to no more is inflated in one go: the way to zlib's threads and back would take longer than that. */
const SMALL_TAR_BYTES = 1_048_576;

const TAR_BLOCK_BYTES = 512;

type Progress = { compressedBytes: number; uncompressedBytes: number; tail: Uint8Array; sourceFault: Error | null };

type TarReading = {
  readonly source: PackageSource;
  readonly isCompressed: boolean;
  readonly listing: ArchiveListing;
};

/**
 * Reads a tar once from beginning to end, in bounded memory, and lists what is in it. The checksums of gzip and of
 * the headers are checked on the way. Throws InspectionStopped for a bad archive and any other error for a fault of
 * the source.
 */
export async function readTarArchive(reading: TarReading): Promise<void> {
  const { source, listing } = reading;
  const progress: Progress = { compressedBytes: 0, uncompressedBytes: 0, tail: new Uint8Array(), sourceFault: null };
  const entries = extract();
  const small = await inflateSmall(reading);
  if (small !== null) {
    measure(small, source, progress);
    entries.end(small);
  }
  const feeding = small === null ? pump(await source.open(), entries, { ...reading, progress }) : undefined;
  const outcomes = await Promise.allSettled([listEntries(entries, reading), feeding]);
  const faults = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  const stopped = faults.find((fault) => fault instanceof InspectionStopped);
  if (stopped !== undefined) {
    throw stopped;
  }
  if (progress.sourceFault !== null) {
    throw progress.sourceFault;
  }
  if (faults.length > 0) {
    throw explainFault(faults.at(-1), source.name, listing.contents.entryCount);
  }
  if (listing.contents.entryCount > 0 && progress.tail.some((byte) => byte !== 0)) {
    // POSIX.1-2017, pax: "At the end of the archive file there shall be two 512-byte blocks filled with binary zeros".
    throw new InspectionStopped('ARCHIVE_TRUNCATED', `${showPath(source.name)} has no end-of-archive mark.`);
  }
}

/** The whole tar where it is small and sound; null leaves it to the stream, which also says what is wrong with it. */
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
    look: (chunk) => {
      progress.compressedBytes += chunk.length;
    },
    end: () => checkSourceEnd(source, progress),
  });
  bytes.once('error', (fault) => {
    // A fault further down reaches the source too, as it is destroyed after what reads it.
    progress.sourceFault = countSource.destroyed ? null : fault;
  });
  const measureTar = createMeter({ look: (chunk) => measure(chunk, source, progress) });
  await (isCompressed
    ? pipeline(bytes, countSource, createGunzip({ chunkSize: INFLATE_CHUNK_BYTES }), measureTar, entries)
    : pipeline(bytes, countSource, measureTar, entries));
}

type Meter = { readonly look: (chunk: Uint8Array) => void; readonly end?: () => void };

/** Shows each chunk on its way to `look`, which may throw to end the stream. (An async generator costs 15 MB more.) */
function createMeter({ look, end }: Meter): Transform {
  const attempt = (step: () => void, done: (fault: Error | null) => void) => {
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
        () => look(chunk),
        (fault) => (fault === null ? done(null, chunk) : done(fault)),
      );
    },
    flush(done) {
      attempt(() => end?.(), done);
    },
  });
}

/** A download that broke off must not be taken for an archive that was cut. */
function checkSourceEnd({ name, sizeBytes }: PackageSource, progress: Progress): void {
  if (progress.compressedBytes !== sizeBytes) {
    progress.sourceFault = new Error(`Reading ${name} ended after ${progress.compressedBytes} of ${sizeBytes} bytes.`);
    throw progress.sourceFault;
  }
}

function measure(chunk: Uint8Array, { sizeBytes }: PackageSource, progress: Progress): void {
  const { uncompressedBytesMax, compressionRatioMax, compressionRatioCountsFromBytes } = PACKAGE_LIMITS;
  progress.uncompressedBytes += chunk.length;
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
    checkGlobalAttributes(entries, rawPath);
    const path = listing.admit({ rawPath, kind, sizeBytes, target: linkname ?? '' });
    if (path !== null && kind === 'file' && listing.wantsText(path, sizeBytes)) {
      listing.takeText(path, await buffer(entry));
    } else {
      entry.resume();
    }
  }
}

/** Types that other tars know besides (GNU's sparse files and volume labels) are as special as devices: pip knows none. */
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

/**
 * A global pax header that renames or resizes what follows is obeyed by Python's tarfile and not by tar-stream, which
 * keeps it in this field. Nothing writes such headers in good faith: git and others put comments and times there.
 */
function checkGlobalAttributes(entries: Extract, rawPath: string): void {
  const attributes: unknown = Reflect.get(entries, '_paxGlobal');
  const changed = Object.keys(attributes ?? {}).find((key) => /^(?:path|linkpath|size|GNU\.sparse\..*)$/.test(key));
  if (changed !== undefined) {
    const message = `A global header of the archive sets "${changed}" for every entry, from "${showPath(rawPath)}" on.`;
    throw new InspectionStopped('ENTRY_MALFORMED', message, rawPath);
  }
}

/** What zlib and tar-stream say, in the user's words. */
function explainFault(fault: unknown, name: string, entryCount: number): InspectionStopped {
  const said = fault instanceof Error ? fault.message : String(fault);
  if (/unexpected end/i.test(said)) {
    return new InspectionStopped(
      'ARCHIVE_TRUNCATED',
      `${showPath(name)} ends in the middle, after ${entryCount} entries.`,
    );
  }
  if (entryCount === 0 && /tar header/i.test(said)) {
    return new InspectionStopped('NOT_AN_ARCHIVE', `${showPath(name)} holds no tar archive: ${said}`);
  }
  return new InspectionStopped('ARCHIVE_CORRUPT', `${showPath(name)} is damaged after ${entryCount} entries: ${said}`);
}
