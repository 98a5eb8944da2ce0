const KIB = 1_024;
const MIB = 1_024 * KIB;

/** What reading a package's own files for advice may cost, within one inspection; what is beyond is left unread. */
export const SCAN_LIMITS = {
  /** All Python sources together. */
  sourcesBytesMax: 2 * MIB,
  sourceCountMax: 500,
  /** One Python source: what is longer was written by a program or holds data. */
  sourceBytesMax: 256 * KIB,
  /** All files whose name makes credentials likely. A key of a service account has 2.4 KiB. */
  secretsBytesMax: 1 * MIB,
  secretCountMax: 500,
  secretBytesMax: 16 * KIB,
  /** requirements.txt and its like: exported ones list every package with its checksums. */
  requirementFileBytesMax: 128 * KIB,
  requirementFileCountMax: 4,
  /** What is kept of each kind of finding; a repository of hundreds has told enough with these. */
  signCountMax: 50,
} as const;
