import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, type ZipFile } from 'yauzl';
import type { ArchiveListing, EntryKind } from '#shared/package/archive/archive-listing.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import {
  type Findings,
  InspectionStopped,
  packageProblem,
  printablePath,
} from '#shared/package/archive/package-problem.ts';
import type { PackageSource } from '#shared/package/archive/package-source.ts';
import { ZipReader } from '#shared/package/archive/zip-reader.ts';

/** Lengths and signatures of APPNOTE.TXT 6.3.10 §4.3.12 to §4.3.16. */
const ENTRY_BYTES = 46;
const END_BYTES = 22;
const ZIP64_END_BYTES = 56;
const ZIP64_LOCATOR_BYTES = 20;
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50;

type ZipDirectory = { readonly zip: ZipFile; readonly entries: readonly Entry[]; readonly startByte: number };

/** General purpose bit flags and compression methods of APPNOTE.TXT 6.3.10 §4.4.4 and §4.4.5. */
const FLAG_UTF8 = 0x800;
/** Patched data, and strong encryption. */
const FLAGS_UNSUPPORTED = 0x60;
/** The latest version of the format that Python's zipfile reads (MAX_EXTRACT_VERSION). */
const VERSION_MAX = 63;
const METHOD_STORED = 0;
const METHOD_DEFLATED = 8;
const MADE_BY_UNIX = 3;
const EXTRA_UNICODE_PATH = 0x7075;

/** A stream per file costs 0.2 ms, which is significant for thousands of small files. */
const SMALL_FILE_BYTES = 256 * 1_024;
const INFLATE_CHUNK_BYTES = 4 * 1_024;

type ZipReading = { readonly source: PackageSource; readonly listing: ArchiveListing; readonly findings: Findings };

/**
 * Lists a zip from its central directory, then reads every file once, in byte order. Sizes and CRC-32 checksums must
 * match and entries must not overlap, so that the stated sizes are the actual cost of unpacking. Throws
 * InspectionStopped for an invalid archive, and any other error for a storage error.
 */
export async function readZipArchive({ source, listing, findings }: ZipReading): Promise<void> {
  const reader = new ZipReader(source);
  try {
    const directory = await readZipDirectory(reader, source.sizeBytes);
    const files = admitFiles(directory.entries, source, { listing, findings });
    if (findings.problems.length === 0) {
      await readFiles(reader, { directory, files, listing });
    }
  } catch (error) {
    if (reader.sourceError !== null) {
      throw reader.sourceError;
    }
    throw error instanceof InspectionStopped ? error : toInspectionStopped(error, source.name);
  }
}

type AdmittedFile = { readonly entry: Entry; readonly path: string };

function admitFiles(
  entries: readonly Entry[],
  source: PackageSource,
  { listing, findings }: Pick<ZipReading, 'listing' | 'findings'>,
): AdmittedFile[] {
  const admitted: AdmittedFile[] = [];
  for (const entry of entries) {
    const rawPath = readName(entry);
    const kind = kindOf(entry, rawPath);
    const rejection = rejectEntry(entry, kind);
    if (rejection !== null) {
      const [code, what] = rejection;
      findings.addProblem(packageProblem(code, `"${printablePath(rawPath)}" ${what}.`, rawPath));
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
    const message = `The archive inflates to ${uncompressedBytes} bytes, more than ${compressionRatioMax} times its compressed size.`;
    throw new InspectionStopped('ARCHIVE_BOMB', message);
  }
  return admitted.sort((a, b) => a.entry.relativeOffsetOfLocalHeader - b.entry.relativeOffsetOfLocalHeader);
}

function rejectEntry(entry: Entry, kind: EntryKind) {
  if (entry.isEncrypted()) {
    return ['ARCHIVE_ENCRYPTED', 'is encrypted'] as const;
  }
  if (entry.compressionMethod !== METHOD_STORED && entry.compressionMethod !== METHOD_DEFLATED) {
    return ['ENTRY_COMPRESSION_UNSUPPORTED', `is compressed with method ${entry.compressionMethod}`] as const;
  }
  if ((entry.versionNeededToExtract & 0xff) > VERSION_MAX || (entry.generalPurposeBitFlag & FLAGS_UNSUPPORTED) !== 0) {
    return ['ENTRY_COMPRESSION_UNSUPPORTED', 'needs a zip reader that Python does not have'] as const;
  }
  if (entry.extraFields.some(({ id }) => id === EXTRA_UNICODE_PATH)) {
    return ['PATH_INVALID', 'has a second name (extra field 0x7075), which not all zip readers use'] as const;
  }
  return kind === 'symbolic-link' ? (['LINK_IN_ZIP', 'is a symbolic link'] as const) : null;
}

/** UTF-8 if the entry is flagged so, otherwise code page 437 (APPNOTE.TXT appendix D), like Python's zipfile. */
function readName({ generalPurposeBitFlag, fileNameRaw }: Entry): string {
  return (generalPurposeBitFlag & FLAG_UTF8) === 0
    ? getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, [], true)
    : fileNameRaw.toString('utf8');
}

/** A trailing slash denotes a directory; Unix file types are in the upper 16 bits of the external attributes. */
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
  let previousEndByte = 0;
  for (const { entry, path } of files) {
    const startByte = await locateData(directory.zip, entry, path);
    const endByte = startByte + entry.compressedSize;
    if (entry.relativeOffsetOfLocalHeader < previousEndByte || endByte > directory.startByte) {
      throw new InspectionStopped(
        'ENTRY_OVERLAPS',
        `"${printablePath(path)}" shares bytes with another entry of the zip.`,
        path,
      );
    }
    previousEndByte = endByte;
    const kept: Uint8Array[] = [];
    const keep = listing.needsText(path, entry.uncompressedSize) ? (chunk: Uint8Array) => kept.push(chunk) : null;
    await checkData(reader.readPieces(startByte, endByte), { entry, path, keep });
    if (keep !== null) {
      listing.addText(path, Buffer.concat(kept));
    }
  }
}

async function locateData(zip: ZipFile, entry: Entry, path: string): Promise<number> {
  const header = await zip.readLocalFileHeaderPromise(entry);
  const isSame =
    header.fileName.equals(entry.fileNameRaw) &&
    header.compressionMethod === entry.compressionMethod &&
    header.generalPurposeBitFlag === entry.generalPurposeBitFlag;
  if (!isSame) {
    const message = `"${printablePath(path)}" has a different name, compression method or flags in its local header than in the zip's central directory.`;
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
  const message = `The data of "${printablePath(path)}" is not ${expected} as stated in the zip.`;
  const mismatch = new InspectionStopped('ENTRY_MALFORMED', message, path);
  let sizeBytes = 0;
  let checksum = 0;
  await inflate(pieces, entry, (chunk) => {
    sizeBytes += chunk.length;
    if (sizeBytes > entry.uncompressedSize) {
      throw mismatch;
    }
    checksum = crc32(chunk, checksum);
    keep?.(chunk);
  });
  if (sizeBytes !== entry.uncompressedSize || checksum !== entry.crc32) {
    throw mismatch;
  }
}

/** Passes the decompressed data of an entry to `onChunk`, small entries at once, larger ones as a stream. */
async function inflate(pieces: AsyncGenerator<Uint8Array>, entry: Entry, onChunk: (chunk: Uint8Array) => void) {
  async function consume(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of chunks) {
      onChunk(chunk);
    }
  }
  if (entry.compressionMethod === METHOD_STORED) {
    await consume(pieces);
  } else if (entry.compressedSize <= SMALL_FILE_BYTES && entry.uncompressedSize <= SMALL_FILE_BYTES) {
    // If the stated size is too small, zlib fails when maxOutputLength is exceeded.
    onChunk(
      inflateRawSync(await buffer(pieces), { maxOutputLength: SMALL_FILE_BYTES, chunkSize: INFLATE_CHUNK_BYTES }),
    );
  } else {
    await pipeline(pieces, createInflateRaw(), consume);
  }
}

/** Converts an error of zlib or yauzl. */
function toInspectionStopped(error: unknown, name: string): InspectionStopped {
  const reason = error instanceof Error ? error.message : String(error);
  if (/encryption/i.test(reason)) {
    return new InspectionStopped('ARCHIVE_ENCRYPTED', `${printablePath(name)} is encrypted.`);
  }
  if (/unexpected end|end of central directory/i.test(reason)) {
    return new InspectionStopped('ARCHIVE_TRUNCATED', `${printablePath(name)} is truncated: ${reason}`);
  }
  return new InspectionStopped('ARCHIVE_CORRUPT', `${printablePath(name)} is damaged: ${reason}`);
}

/**
 * Reads the central directory. Readers locate it in different ways: yauzl by its offset, Python's zipfile by its size,
 * counting back from its end. It is accepted only if both yield the same bytes, so that both readers see the same
 * entries. Throws InspectionStopped at a limit, and errors of yauzl for damaged data.
 */
async function readZipDirectory(reader: ZipReader, sizeBytes: number): Promise<ZipDirectory> {
  const zip = await fromRandomAccessReaderPromise(reader, sizeBytes, { decodeStrings: false, autoClose: false });
  if (zip.entryCount > PACKAGE_LIMITS.entryCountMax) {
    const message = `The archive has ${zip.entryCount} entries; the maximum is ${PACKAGE_LIMITS.entryCountMax}.`;
    throw new InspectionStopped('ENTRY_COUNT_EXCEEDED', message);
  }
  const range = await locateDirectory(reader, sizeBytes - zip.comment.length - END_BYTES);
  const entries: Entry[] = [];
  let readBytes = 0;
  for await (const entry of zip.eachEntry()) {
    readBytes += ENTRY_BYTES + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    if (readBytes > 2 * PACKAGE_LIMITS.pathsBytesMax) {
      const message = `The central directory of the zip has more than ${2 * PACKAGE_LIMITS.pathsBytesMax} bytes.`;
      throw new InspectionStopped('ENTRY_COUNT_EXCEEDED', message);
    }
    entries.push(entry);
  }
  if (range.startByte + range.sizeBytes !== range.endByte || readBytes !== range.sizeBytes) {
    throw new InspectionStopped(
      'ARCHIVE_CORRUPT',
      'The central directory of the zip is not at the stated offset or does not have the stated size.',
    );
  }
  return { zip, entries, startByte: range.startByte };
}

type DirectoryRange = { readonly startByte: number; readonly sizeBytes: number; readonly endByte: number };

async function locateDirectory(reader: ZipReader, endRecordByte: number): Promise<DirectoryRange> {
  const end = await reader.readBytes(endRecordByte, endRecordByte + END_BYTES);
  const locatorByte = endRecordByte - ZIP64_LOCATOR_BYTES;
  const locator = locatorByte < 0 ? Buffer.alloc(0) : await reader.readBytes(locatorByte, endRecordByte);
  if (locator.length < ZIP64_LOCATOR_BYTES || locator.readUInt32LE(0) !== ZIP64_LOCATOR_SIGNATURE) {
    return { startByte: end.readUInt32LE(16), sizeBytes: end.readUInt32LE(12), endByte: endRecordByte };
  }
  const recordByte = locatorByte - ZIP64_END_BYTES;
  const record = await reader.readBytes(recordByte, locatorByte);
  if (record.length < ZIP64_END_BYTES || Number(locator.readBigUInt64LE(8)) !== recordByte) {
    throw new InspectionStopped('ARCHIVE_CORRUPT', 'The zip64 records of the archive are inconsistent.');
  }
  return {
    startByte: Number(record.readBigUInt64LE(48)),
    sizeBytes: Number(record.readBigUInt64LE(40)),
    endByte: recordByte,
  };
}
