import { type Entry, fromRandomAccessReaderPromise, type ZipFile } from 'yauzl';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import { InspectionStopped } from '#shared/package/archive/package-problem.ts';
import type { ZipReader } from '#shared/package/archive/zip-reader.ts';

/** Lengths and signatures of APPNOTE.TXT 6.3.10 §4.3.12 to §4.3.16. */
const ENTRY_BYTES = 46;
const END_BYTES = 22;
const ZIP64_END_BYTES = 56;
const ZIP64_LOCATOR_BYTES = 20;
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50;

export type ZipDirectory = { readonly zip: ZipFile; readonly entries: readonly Entry[]; readonly startByte: number };

/**
 * The central directory, whole. Readers find it in different ways: yauzl by its offset, Python's zipfile by its size
 * counted back from its end. Only where both lead to the same bytes is it believed, so that both see the same entries.
 * Throws InspectionStopped at a limit, and plain errors of yauzl for what is damaged.
 */
export async function readZipDirectory(reader: ZipReader, sizeBytes: number): Promise<ZipDirectory> {
  const zip = await fromRandomAccessReaderPromise(reader, sizeBytes, { decodeStrings: false, autoClose: false });
  if (zip.entryCount > PACKAGE_LIMITS.entryCountMax) {
    const message = `The archive has ${zip.entryCount} entries; ${PACKAGE_LIMITS.entryCountMax} are allowed.`;
    throw new InspectionStopped('ENTRY_COUNT_EXCEEDED', message);
  }
  const place = await locateDirectory(reader, sizeBytes - zip.comment.length - END_BYTES);
  const entries: Entry[] = [];
  let readBytes = 0;
  for await (const entry of zip.eachEntry()) {
    readBytes += ENTRY_BYTES + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    if (readBytes > 2 * PACKAGE_LIMITS.pathsBytesMax) {
      const message = `The directory of the archive has more than ${2 * PACKAGE_LIMITS.pathsBytesMax} bytes.`;
      throw new InspectionStopped('ENTRY_COUNT_EXCEEDED', message);
    }
    entries.push(entry);
  }
  if (place.startByte + place.sizeBytes !== place.endByte || readBytes !== place.sizeBytes) {
    throw new InspectionStopped(
      'ARCHIVE_CORRUPT',
      'The directory of the zip archive is not where, or not as long as, it says.',
    );
  }
  return { zip, entries, startByte: place.startByte };
}

type Place = { readonly startByte: number; readonly sizeBytes: number; readonly endByte: number };

async function locateDirectory(reader: ZipReader, endRecordByte: number): Promise<Place> {
  const end = await reader.readBytes(endRecordByte, endRecordByte + END_BYTES);
  const locatorByte = endRecordByte - ZIP64_LOCATOR_BYTES;
  const locator = locatorByte < 0 ? Buffer.alloc(0) : await reader.readBytes(locatorByte, endRecordByte);
  if (locator.length < ZIP64_LOCATOR_BYTES || locator.readUInt32LE(0) !== ZIP64_LOCATOR_SIGNATURE) {
    return { startByte: end.readUInt32LE(16), sizeBytes: end.readUInt32LE(12), endByte: endRecordByte };
  }
  const recordByte = locatorByte - ZIP64_END_BYTES;
  const record = await reader.readBytes(recordByte, locatorByte);
  if (record.length < ZIP64_END_BYTES || Number(locator.readBigUInt64LE(8)) !== recordByte) {
    throw new InspectionStopped('ARCHIVE_CORRUPT', 'The zip64 records of the archive contradict each other.');
  }
  return {
    startByte: Number(record.readBigUInt64LE(48)),
    sizeBytes: Number(record.readBigUInt64LE(40)),
    endByte: recordByte,
  };
}
