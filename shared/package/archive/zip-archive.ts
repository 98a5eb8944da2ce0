import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { type Entry, getFileNameLowLevel, type ZipFile } from 'yauzl';
import type { ArchiveListing, EntryKind } from '#shared/package/archive/archive-listing.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import {
  type Findings,
  InspectionStopped,
  packageProblemOf,
  showPath,
} from '#shared/package/archive/package-problem.ts';
import type { PackageSource } from '#shared/package/archive/package-source.ts';
import { readZipDirectory, type ZipDirectory } from '#shared/package/archive/zip-directory.ts';
import { ZipReader } from '#shared/package/archive/zip-reader.ts';

/** APPNOTE.TXT 6.3.10 §4.4.4 and §4.4.5. */
const FLAG_UTF8 = 0x800;
const METHOD_STORED = 0;
const METHOD_DEFLATED = 8;
const MADE_BY_UNIX = 3;
const EXTRA_UNICODE_PATH = 0x7075;

/** A stream of its own costs a file 0.2 ms, which tells with thousands of small ones. */
const SMALL_FILE_BYTES = 256 * 1_024;
const INFLATE_CHUNK_BYTES = 4 * 1_024;

type ZipReading = { readonly source: PackageSource; readonly listing: ArchiveListing; readonly findings: Findings };

/**
 * Lists a zip by its central directory, then reads every file once to the end, in the order of the bytes: sizes and
 * CRC-32 must be as stated, and no two entries may share bytes, so that what is stated is what unpacking will cost.
 * Throws InspectionStopped for a bad archive and any other error for a fault of the source.
 */
export async function readZipArchive({ source, listing, findings }: ZipReading): Promise<void> {
  const reader = new ZipReader(source);
  try {
    const directory = await readZipDirectory(reader, source.sizeBytes);
    const files = admitEntries(directory.entries, source, { listing, findings });
    if (findings.problems.length === 0) {
      await readFiles(reader, { directory, files, listing });
    }
  } catch (error) {
    if (reader.sourceFault !== null) {
      throw reader.sourceFault;
    }
    throw error instanceof InspectionStopped ? error : explainFault(error, source.name);
  }
}

type AdmittedFile = { readonly entry: Entry; readonly path: string };

function admitEntries(
  entries: readonly Entry[],
  source: PackageSource,
  { listing, findings }: Pick<ZipReading, 'listing' | 'findings'>,
): AdmittedFile[] {
  const admitted: AdmittedFile[] = [];
  for (const entry of entries) {
    const rawPath = readName(entry);
    const kind = kindOf(entry, rawPath);
    const refusal = refuseEntry(entry, kind);
    if (refusal !== null) {
      const [code, what] = refusal;
      findings.refuse(packageProblemOf(code, `"${showPath(rawPath)}" ${what}.`, rawPath));
      continue;
    }
    const path = listing.admit({ rawPath, kind, sizeBytes: entry.uncompressedSize });
    if (path !== null) {
      admitted.push({ entry, path });
    }
  }
  const { uncompressedBytes } = listing.contents;
  const { compressionRatioMax, compressionRatioCountsFromBytes } = PACKAGE_LIMITS;
  if (uncompressedBytes > Math.max(compressionRatioCountsFromBytes, source.sizeBytes * compressionRatioMax)) {
    const message = `The archive inflates to ${uncompressedBytes} bytes, more than ${compressionRatioMax} times its size.`;
    throw new InspectionStopped('ARCHIVE_BOMB', message);
  }
  return admitted.sort((a, b) => a.entry.relativeOffsetOfLocalHeader - b.entry.relativeOffsetOfLocalHeader);
}

function refuseEntry(entry: Entry, kind: EntryKind) {
  if (entry.isEncrypted()) {
    return ['ARCHIVE_ENCRYPTED', 'is encrypted'] as const;
  }
  if (entry.compressionMethod !== METHOD_STORED && entry.compressionMethod !== METHOD_DEFLATED) {
    return ['ENTRY_COMPRESSION_UNSUPPORTED', `is compressed with method ${entry.compressionMethod}`] as const;
  }
  if (entry.extraFields.some(({ id }) => id === EXTRA_UNICODE_PATH)) {
    return ['PATH_INVALID', 'has a second name (extra field 0x7075), and readers differ in which they take'] as const;
  }
  return kind === 'symbolic-link' ? (['LINK_IN_ZIP', 'is a symbolic link'] as const) : null;
}

/** UTF-8 where the entry says so, otherwise code page 437 (APPNOTE.TXT appendix D), as Python reads it. */
function readName({ generalPurposeBitFlag, fileNameRaw }: Entry): string {
  return (generalPurposeBitFlag & FLAG_UTF8) === 0
    ? getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, [], true)
    : fileNameRaw.toString('utf8');
}

/** A slash at the end makes a directory; file types of Unix are in the upper half of the external attributes. */
function kindOf({ versionMadeBy, externalFileAttributes }: Entry, rawPath: string): EntryKind {
  const fileType = versionMadeBy >>> 8 === MADE_BY_UNIX ? (externalFileAttributes >>> 28) & 0xf : 0;
  if (fileType === 0xa) {
    return 'symbolic-link';
  }
  if (fileType !== 0 && fileType !== 0x8 && fileType !== 0x4) {
    return 'special';
  }
  return rawPath.endsWith('/') ? 'directory' : 'file';
}

type FileReading = {
  readonly directory: ZipDirectory;
  readonly files: readonly AdmittedFile[];
  readonly listing: ArchiveListing;
};

async function readFiles(reader: ZipReader, { directory, files, listing }: FileReading): Promise<void> {
  let freeFromByte = 0;
  for (const { entry, path } of files) {
    const startByte = await findData(directory.zip, entry, path);
    const endByte = startByte + entry.compressedSize;
    if (entry.relativeOffsetOfLocalHeader < freeFromByte || endByte > directory.startByte) {
      throw new InspectionStopped(
        'ENTRY_OVERLAPS',
        `"${showPath(path)}" shares bytes with another entry of the zip.`,
        path,
      );
    }
    freeFromByte = endByte;
    const kept: Uint8Array[] = [];
    const keep = listing.wantsText(path, entry.uncompressedSize) ? (chunk: Uint8Array) => kept.push(chunk) : null;
    await checkData(reader.readPieces(startByte, endByte), { entry, path, keep });
    if (keep !== null) {
      listing.takeText(path, Buffer.concat(kept));
    }
  }
}

async function findData(zip: ZipFile, entry: Entry, path: string): Promise<number> {
  const header = await zip.readLocalFileHeaderPromise(entry);
  if (!header.fileName.equals(entry.fileNameRaw) || header.compressionMethod !== entry.compressionMethod) {
    const message = `"${showPath(path)}" is called or compressed otherwise before its data than in the directory of the zip.`;
    throw new InspectionStopped('ENTRY_MALFORMED', message, path);
  }
  return header.fileDataStart;
}

type ExpectedData = {
  readonly entry: Entry;
  readonly path: string;
  readonly keep: ((chunk: Uint8Array) => void) | null;
};

async function checkData(pieces: AsyncGenerator<Uint8Array>, { entry, path, keep }: ExpectedData): Promise<void> {
  const expected = `${entry.uncompressedSize} bytes with the CRC-32 ${entry.crc32.toString(16)}`;
  const message = `The data of "${showPath(path)}" is not ${expected}, as the zip states.`;
  const lie = new InspectionStopped('ENTRY_MALFORMED', message, path);
  let sizeBytes = 0;
  let checksum = 0;
  await inflate(pieces, entry, (chunk) => {
    sizeBytes += chunk.length;
    if (sizeBytes > entry.uncompressedSize) {
      throw lie;
    }
    checksum = crc32(chunk, checksum);
    keep?.(chunk);
  });
  if (sizeBytes !== entry.uncompressedSize || checksum !== entry.crc32) {
    throw lie;
  }
}

/** Shows the data of an entry to `look`: of a small one in one go, of a larger one as it streams by. */
async function inflate(pieces: AsyncGenerator<Uint8Array>, entry: Entry, look: (chunk: Uint8Array) => void) {
  async function lookAtAll(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of chunks) {
      look(chunk);
    }
  }
  if (entry.compressionMethod === METHOD_STORED) {
    await lookAtAll(pieces);
  } else if (entry.compressedSize <= SMALL_FILE_BYTES && entry.uncompressedSize <= SMALL_FILE_BYTES) {
    // What claims to be small and is not ends here with an error of zlib, at the small size.
    look(inflateRawSync(await buffer(pieces), { maxOutputLength: SMALL_FILE_BYTES, chunkSize: INFLATE_CHUNK_BYTES }));
  } else {
    await pipeline(pieces, createInflateRaw(), lookAtAll);
  }
}

/** What zlib and yauzl say, in the user's words. */
function explainFault(fault: unknown, name: string): InspectionStopped {
  const said = fault instanceof Error ? fault.message : String(fault);
  if (/encryption/i.test(said)) {
    return new InspectionStopped('ARCHIVE_ENCRYPTED', `${showPath(name)} is encrypted.`);
  }
  if (/unexpected end|end of central directory/i.test(said)) {
    return new InspectionStopped('ARCHIVE_TRUNCATED', `${showPath(name)} ends in the middle: ${said}`);
  }
  return new InspectionStopped('ARCHIVE_CORRUPT', `${showPath(name)} is damaged: ${said}`);
}
