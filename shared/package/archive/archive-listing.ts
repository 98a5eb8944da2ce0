import { readEntryPath } from '#shared/package/archive/entry-path.ts';
import { mayBeMetadata } from '#shared/package/archive/package-file-names.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import {
  type Findings,
  InspectionStopped,
  packageProblem,
  printablePath,
} from '#shared/package/archive/package-problem.ts';
import { createFileScan, type FileEvidence } from '#shared/package/scan/file-scan.ts';

export type EntryKind = 'file' | 'directory' | 'symbolic-link' | 'hard-link' | 'special';

/** An entry as stated in the archive. Untrusted. */
export type ArchiveEntry = {
  readonly rawPath: string;
  readonly kind: EntryKind;
  readonly sizeBytes: number;
  /** The target of a link. */
  readonly target?: string;
};

/** The contents of an archive after all entries have been admitted. */
export type ArchiveContents = {
  readonly entryCount: number;
  readonly uncompressedBytes: number;
  /** Hard links are listed as files. */
  readonly kinds: ReadonlyMap<string, 'file' | 'directory' | 'symbolic-link'>;
  /** Targets of symbolic links by path. */
  readonly links: ReadonlyMap<string, string>;
  /** Bytes of metadata and job files by path. */
  readonly texts: ReadonlyMap<string, Uint8Array>;
  /** Metadata and job files that exceed a size limit. */
  readonly unreadTexts: ReadonlySet<string>;
  /** Evidence from source and key files, whose texts are not kept. */
  readonly evidence: FileEvidence;
};

/** Admits entries one by one within the limits. Its memory holds only paths and small texts. */
export type ArchiveListing = {
  readonly contents: ArchiveContents;
  /** Returns the normalized path of the entry, or null if it was rejected. Throws InspectionStopped at a limit. */
  admit(entry: ArchiveEntry): string | null;
  /** Whether the bytes of an admitted file must be passed to `addText`. */
  needsText(path: string, sizeBytes: number): boolean;
  /** Keeps the text of a metadata file, and scans the text of other files for evidence. */
  addText(path: string, bytes: Uint8Array): void;
};

type State = {
  readonly findings: Findings;
  readonly kinds: Map<string, 'file' | 'directory' | 'symbolic-link'>;
  readonly links: Map<string, string>;
  pathsBytes: number;
};

export function createArchiveListing(findings: Findings): ArchiveListing {
  const state: State = { findings, kinds: new Map(), links: new Map(), pathsBytes: 0 };
  const totals = { entryCount: 0, uncompressedBytes: 0 };
  const texts = new Map<string, Uint8Array>();
  const unreadTexts = new Set<string>();
  const scan = createFileScan();
  const scanned = new Set<string>();
  let textsBytes = 0;
  return {
    contents: {
      get entryCount() {
        return totals.entryCount;
      },
      get uncompressedBytes() {
        return totals.uncompressedBytes;
      },
      kinds: state.kinds,
      links: state.links,
      texts,
      unreadTexts,
      evidence: scan.evidence,
    },
    admit(entry) {
      totals.entryCount += 1;
      totals.uncompressedBytes += entry.sizeBytes;
      checkTotals(entry, totals);
      return admitPath(entry, state);
    },
    needsText(path, sizeBytes) {
      const isScanned = scan.wants(path, sizeBytes);
      if (isScanned) {
        scanned.add(path);
      }
      if (!mayBeMetadata(path)) {
        return isScanned;
      }
      const { recordBytesMax, lockBytesMax, textBytesMax } = PACKAGE_LIMITS;
      const bytesMax = path.endsWith('/RECORD') ? recordBytesMax : path.endsWith('.lock') ? lockBytesMax : textBytesMax;
      if (sizeBytes > bytesMax || textsBytes + sizeBytes > PACKAGE_LIMITS.textsBytesMax) {
        unreadTexts.add(path);
        return isScanned;
      }
      textsBytes += sizeBytes;
      return true;
    },
    addText(path, bytes) {
      if (mayBeMetadata(path) && !unreadTexts.has(path)) {
        texts.set(path, bytes);
      }
      if (scanned.delete(path)) {
        scan.scan(path, bytes);
      }
    },
  };
}

function checkTotals(
  { rawPath, sizeBytes }: ArchiveEntry,
  totals: Pick<ArchiveContents, 'entryCount' | 'uncompressedBytes'>,
) {
  const { entryCountMax, entryBytesMax, uncompressedBytesMax } = PACKAGE_LIMITS;
  if (totals.entryCount > entryCountMax) {
    throw new InspectionStopped('ENTRY_COUNT_EXCEEDED', `The archive has more than ${entryCountMax} entries.`);
  }
  if (sizeBytes > entryBytesMax) {
    const message = `"${printablePath(rawPath)}" has ${sizeBytes} bytes; the maximum for one file is ${entryBytesMax}.`;
    throw new InspectionStopped('ENTRY_TOO_LARGE', message, rawPath);
  }
  if (totals.uncompressedBytes > uncompressedBytesMax) {
    const message = `The files of the archive have more than ${uncompressedBytesMax} bytes in total.`;
    throw new InspectionStopped('ARCHIVE_TOO_LARGE', message, rawPath);
  }
}

function admitPath(entry: ArchiveEntry, state: State): string | null {
  const { findings, kinds } = state;
  const reading = readEntryPath(entry.rawPath);
  if (reading.problem !== undefined) {
    findings.addProblem(reading.problem);
    return null;
  }
  const { path } = reading;
  if (path === '') {
    if (entry.kind !== 'directory') {
      findings.addProblem(packageProblem('PATH_INVALID', 'The archive has an entry without a name.', entry.rawPath));
    }
    return null;
  }
  const kind = admitKind(entry, path, state);
  if (kind === null) {
    return null;
  }
  const known = kinds.get(path);
  if (known !== undefined && !(known === 'directory' && kind === 'directory')) {
    findings.addProblem(
      packageProblem('PATH_DUPLICATE', `"${printablePath(path)}" appears more than once in the archive.`, path),
    );
    return null;
  }
  if (known === undefined) {
    state.pathsBytes += Buffer.byteLength(path);
    if (state.pathsBytes > PACKAGE_LIMITS.pathsBytesMax) {
      const message = `The paths of the archive have more than ${PACKAGE_LIMITS.pathsBytesMax} bytes in total.`;
      throw new InspectionStopped('ENTRY_COUNT_EXCEEDED', message);
    }
    kinds.set(path, kind);
  }
  return path;
}

/** The kind under which the entry is listed; null if it was rejected. */
function admitKind(entry: ArchiveEntry, path: string, state: State): 'file' | 'directory' | 'symbolic-link' | null {
  const { findings } = state;
  const shown = printablePath(path);
  if (entry.kind === 'special') {
    const message = `"${shown}" is not a file, directory or link.`;
    findings.addProblem(packageProblem('ENTRY_SPECIAL', message, path));
    return null;
  }
  if (entry.kind === 'file') {
    return 'file';
  }
  if (entry.sizeBytes > 0) {
    // Readers disagree on whether data follows such an entry, which could hide further entries from some of them.
    const message = `"${shown}" is a ${entry.kind.replace('-', ' ')} but has a stated size of ${entry.sizeBytes} bytes.`;
    findings.addProblem(packageProblem('ENTRY_MALFORMED', message, path));
    return null;
  }
  if (entry.kind === 'directory') {
    return 'directory';
  }
  return entry.kind === 'hard-link' ? admitHardLink(entry, path, state) : admitSymbolicLink(entry, path, state);
}

/** A hard link names an earlier file of the archive; its target is relative to the archive's root. */
function admitHardLink({ target = '' }: ArchiveEntry, path: string, { findings, kinds }: State): 'file' | null {
  const reading = readEntryPath(target);
  if (reading.problem !== undefined) {
    const message = `The hard link "${printablePath(path)}" points to "${printablePath(target)}", outside the archive.`;
    findings.addProblem(packageProblem('LINK_ESCAPES', message, path));
    return null;
  }
  if (kinds.get(reading.path) !== 'file') {
    const message = `The hard link "${printablePath(path)}" points to "${printablePath(target)}", which is not an earlier file of the archive.`;
    findings.addProblem(packageProblem('LINK_DANGLING', message, path));
    return null;
  }
  return 'file';
}

/** `checkContents` resolves the target when all links are known. */
function admitSymbolicLink(
  { target = '' }: ArchiveEntry,
  path: string,
  { findings, links }: State,
): 'symbolic-link' | null {
  if (target === '' || Buffer.byteLength(target) > PACKAGE_LIMITS.pathBytesMax) {
    const message = `The target of the link "${printablePath(path)}" is empty or longer than ${PACKAGE_LIMITS.pathBytesMax} bytes.`;
    findings.addProblem(packageProblem('PATH_INVALID', message, path));
    return null;
  }
  if (links.size >= PACKAGE_LIMITS.linkCountMax) {
    const message = `The archive has more than ${PACKAGE_LIMITS.linkCountMax} symbolic links.`;
    throw new InspectionStopped('LINK_COUNT_EXCEEDED', message, path);
  }
  links.set(path, target);
  return 'symbolic-link';
}
