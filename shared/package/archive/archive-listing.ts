import { readEntryPath } from '#shared/package/archive/entry-path.ts';
import { mayBeMetadata } from '#shared/package/archive/package-file-names.ts';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import {
  type Findings,
  InspectionStopped,
  packageProblemOf,
  showPath,
} from '#shared/package/archive/package-problem.ts';
import { createFileScan, type FileSigns } from '#shared/package/scan/file-scan.ts';

export type EntryKind = 'file' | 'directory' | 'symbolic-link' | 'hard-link' | 'special';

/** An entry as its archive states it; nothing in it is to be believed. */
export type ArchiveEntry = {
  readonly rawPath: string;
  readonly kind: EntryKind;
  readonly sizeBytes: number;
  /** Where a link points. */
  readonly target?: string;
};

/** What an archive holds, once every entry was admitted. */
export type ArchiveContents = {
  readonly entryCount: number;
  readonly uncompressedBytes: number;
  /** Hard links count as the files that they name. */
  readonly kinds: ReadonlyMap<string, 'file' | 'directory' | 'symbolic-link'>;
  /** Targets of symbolic links by path. */
  readonly links: ReadonlyMap<string, string>;
  readonly texts: ReadonlyMap<string, Uint8Array>;
  /** Files that would have been read but for their size. */
  readonly unreadTexts: ReadonlySet<string>;
  /** What sources and key files show, whose texts are not kept. */
  readonly signs: FileSigns;
};

/** Takes entries in one by one and holds them to the limits; keeps no more than paths and small texts. */
export type ArchiveListing = {
  readonly contents: ArchiveContents;
  /** The path under which the entry is known from now on; null where it was refused. Throws InspectionStopped at a limit. */
  admit(entry: ArchiveEntry): string | null;
  /** Whether the bytes of an admitted file are to be handed to `takeText`. */
  wantsText(path: string, sizeBytes: number): boolean;
  /** Keeps a text that is read later, and looks for signs in one that is not. */
  takeText(path: string, bytes: Uint8Array): void;
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
      signs: scan.signs,
    },
    admit(entry) {
      totals.entryCount += 1;
      totals.uncompressedBytes += entry.sizeBytes;
      checkTotals(entry, totals);
      return admitPath(entry, state);
    },
    wantsText(path, sizeBytes) {
      const isScanned = scan.wants(path, sizeBytes);
      if (isScanned) {
        scanned.add(path);
      }
      if (!mayBeMetadata(path)) {
        return isScanned;
      }
      const bytesMax = path.endsWith('/RECORD') ? PACKAGE_LIMITS.recordBytesMax : PACKAGE_LIMITS.textBytesMax;
      if (sizeBytes > bytesMax || textsBytes + sizeBytes > PACKAGE_LIMITS.textsBytesMax) {
        unreadTexts.add(path);
        return isScanned;
      }
      textsBytes += sizeBytes;
      return true;
    },
    takeText(path, bytes) {
      if (mayBeMetadata(path) && !unreadTexts.has(path)) {
        texts.set(path, bytes);
      }
      if (scanned.delete(path)) {
        scan.look(path, bytes);
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
    const message = `"${showPath(rawPath)}" has ${sizeBytes} bytes; one file may have ${entryBytesMax}.`;
    throw new InspectionStopped('ENTRY_TOO_LARGE', message, rawPath);
  }
  if (totals.uncompressedBytes > uncompressedBytesMax) {
    const message = `The files of the archive have more than ${uncompressedBytesMax} bytes together.`;
    throw new InspectionStopped('ARCHIVE_TOO_LARGE', message, rawPath);
  }
}

function admitPath(entry: ArchiveEntry, state: State): string | null {
  const { findings, kinds } = state;
  const reading = readEntryPath(entry.rawPath);
  if (reading.problem !== undefined) {
    findings.refuse(reading.problem);
    return null;
  }
  const { path } = reading;
  if (path === '') {
    if (entry.kind !== 'directory') {
      findings.refuse(packageProblemOf('PATH_INVALID', 'The archive has an entry without a name.', entry.rawPath));
    }
    return null;
  }
  const kind = admitKind(entry, path, state);
  if (kind === null) {
    return null;
  }
  const known = kinds.get(path);
  if (known !== undefined && !(known === 'directory' && kind === 'directory')) {
    findings.refuse(packageProblemOf('PATH_DUPLICATE', `"${showPath(path)}" is in the archive more than once.`, path));
    return null;
  }
  if (known === undefined) {
    state.pathsBytes += Buffer.byteLength(path);
    if (state.pathsBytes > PACKAGE_LIMITS.pathsBytesMax) {
      const message = `The paths of the archive have more than ${PACKAGE_LIMITS.pathsBytesMax} bytes together.`;
      throw new InspectionStopped('ENTRY_COUNT_EXCEEDED', message);
    }
    kinds.set(path, kind);
  }
  return path;
}

/** What the entry counts as, or null where it was refused. */
function admitKind(entry: ArchiveEntry, path: string, state: State): 'file' | 'directory' | 'symbolic-link' | null {
  const { findings } = state;
  const shown = showPath(path);
  if (entry.kind === 'special') {
    const message = `"${shown}" is neither a file, a directory nor a link.`;
    findings.refuse(packageProblemOf('ENTRY_SPECIAL', message, path));
    return null;
  }
  if (entry.kind === 'file') {
    return 'file';
  }
  if (entry.sizeBytes > 0) {
    // Readers disagree on whether data follows such an entry, so that it could hide further entries from one of them.
    const message = `"${shown}" is a ${entry.kind.replace('-', ' ')} and claims ${entry.sizeBytes} bytes of data.`;
    findings.refuse(packageProblemOf('ENTRY_MALFORMED', message, path));
    return null;
  }
  if (entry.kind === 'directory') {
    return 'directory';
  }
  return entry.kind === 'hard-link' ? admitHardLink(entry, path, state) : admitSymbolicLink(entry, path, state);
}

/** A hard link repeats an earlier file of the archive; its target counts from the archive's root. */
function admitHardLink({ target = '' }: ArchiveEntry, path: string, { findings, kinds }: State): 'file' | null {
  const reading = readEntryPath(target);
  if (reading.problem !== undefined) {
    const message = `The hard link "${showPath(path)}" points to "${showPath(target)}", out of the archive.`;
    findings.refuse(packageProblemOf('LINK_ESCAPES', message, path));
    return null;
  }
  if (kinds.get(reading.path) !== 'file') {
    const message = `The hard link "${showPath(path)}" points to "${showPath(target)}", which is no earlier file of the archive.`;
    findings.refuse(packageProblemOf('LINK_DANGLING', message, path));
    return null;
  }
  return 'file';
}

/** Where it leads is only known when all links are: see `checkLinks`. */
function admitSymbolicLink(
  { target = '' }: ArchiveEntry,
  path: string,
  { findings, links }: State,
): 'symbolic-link' | null {
  if (target === '' || Buffer.byteLength(target) > PACKAGE_LIMITS.pathBytesMax) {
    const message = `The target of the link "${showPath(path)}" is empty or longer than ${PACKAGE_LIMITS.pathBytesMax} bytes.`;
    findings.refuse(packageProblemOf('PATH_INVALID', message, path));
    return null;
  }
  if (links.size >= PACKAGE_LIMITS.linkCountMax) {
    const message = `The archive has more than ${PACKAGE_LIMITS.linkCountMax} symbolic links.`;
    throw new InspectionStopped('LINK_COUNT_EXCEEDED', message, path);
  }
  links.set(path, target);
  return 'symbolic-link';
}
