const KIB = 1_024;
const MIB = 1_024 * KIB;
const GIB = 1_024 * MIB;

/**
 * Limits of an uploaded archive. They bound the time and memory of an inspection: nothing is unpacked to disk, and
 * archives inside the archive are counted but not opened.
 */
export const PACKAGE_LIMITS = {
  /** One inspection; the functions that inspect packages have 300 s (terraform/functions.tf). */
  inspectionMsMax: 240_000,
  /** The largest zip takes 46 to 87 s of this project's build machine (`npm run bench -- archive`). */
  inspectionCpuSecondsMax: 120,
  /** The object as uploaded; all packages of a job together. */
  compressedBytesMax: 2 * GIB,
  /** The total size of the files, and of a tar's stream with headers and padding. */
  uncompressedBytesMax: 10 * GIB,
  /** One file. */
  entryBytesMax: 4 * GIB,
  /** Files, directories and links. */
  entryCountMax: 50_000,
  /** One path, in UTF-8; also Cloud Storage's limit of object names. */
  pathBytesMax: 1_024,
  /** One path component, in UTF-8: Linux's NAME_MAX. */
  nameBytesMax: 255,
  /** Components of one path. */
  pathDepthMax: 32,
  /** All paths, which an inspection keeps in memory. */
  pathsBytesMax: 16 * MIB,
  /** Symbolic links, each of which is resolved. */
  linkCountMax: 500,
  /** Uncompressed to compressed bytes. DEFLATE's maximum is 1,032; source code rarely exceeds 10. */
  compressionRatioMax: 200,
  /** The ratio is not checked below this number of uncompressed bytes. */
  compressionRatioCountsFromBytes: 64 * MIB,
  /** One metadata or job file. */
  textBytesMax: 1 * MIB,
  /** The RECORD of a wheel, which has a line for every file. */
  recordBytesMax: 8 * MIB,
  /** A lock file, which has a line for every wheel: a dense one takes 70 bytes of memory for each of its own. */
  lockBytesMax: 4 * MIB,
  /** All texts that are kept while the archive is read. */
  textsBytesMax: 16 * MIB,
} as const;

/** An inspection stops at its 20th problem: after fixing these, the package is uploaded again anyway. */
export const PROBLEM_COUNT_MAX = 20;
