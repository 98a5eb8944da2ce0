const KIB = 1_024;
const MIB = 1_024 * KIB;
const GIB = 1_024 * MIB;

/**
 * What an uploaded archive may cost us before it is refused. Time and memory of an inspection are bounded by these
 * alone: nothing is unpacked to disk, and archives inside the archive are counted and never opened.
 */
export const PACKAGE_LIMITS = {
  /** The object as uploaded. */
  compressedBytesMax: 2 * GIB,
  /** All that comes out of the archive: the sum of its files, and of a tar's stream with headers and padding. */
  uncompressedBytesMax: 10 * GIB,
  /** One file. */
  entryBytesMax: 4 * GIB,
  /** Files, directories and links together. */
  entryCountMax: 50_000,
  /** One path, in UTF-8; also the longest object name of Cloud Storage. */
  pathBytesMax: 1_024,
  /** One name between slashes, in UTF-8: NAME_MAX of Linux. */
  nameBytesMax: 255,
  /** Names in one path. */
  pathDepthMax: 32,
  /** All paths together, since they are what an inspection keeps in memory. */
  pathsBytesMax: 16 * MIB,
  /** Symbolic links, since each is followed. */
  linkCountMax: 500,
  /** Uncompressed over compressed bytes. DEFLATE itself ends at 1,032; source code seldom passes 10. */
  compressionRatioMax: 200,
  /** Below this many uncompressed bytes no ratio is a bomb. */
  compressionRatioCountsFromBytes: 64 * MIB,
  /** One file of metadata or one job file. */
  textBytesMax: 1 * MIB,
  /** The RECORD of a wheel, which has a line for every file. */
  recordBytesMax: 8 * MIB,
  /** All texts that are kept while the archive is read. */
  textsBytesMax: 16 * MIB,
} as const;

/** An inspection ends with its 20th problem: who mends so many will upload again. */
export const PROBLEM_COUNT_MAX = 20;
