import { type CredentialKind, findCredential, mayHoldCredential } from '#shared/package/scan/credential-signs.ts';
import { findPython2 } from '#shared/package/scan/python-2.ts';
import { type DistributionSign, findDistribution, findImports } from '#shared/package/scan/python-signs.ts';
import { blankStrings } from '#shared/package/scan/python-text.ts';
import { SCAN_LIMITS } from '#shared/package/scan/scan-limits.ts';

/** What was seen in the files of an archive while they passed by. Paths are the archive's, not fit to be shown. */
export type FileSigns = {
  /** Whether every Python source was looked into: only then does it mean something that a sign is missing. */
  readonly isComplete: boolean;
  /** Top-level names of the imported modules that advice depends on. */
  readonly imports: ReadonlySet<string>;
  readonly distribution: ReadonlySet<DistributionSign>;
  /** The first line, counted from 1, of each file that no Python 3 can parse. */
  readonly python2Lines: ReadonlyMap<string, number>;
  /** Never the secret, only where it is and what it is. */
  readonly credentials: readonly { readonly path: string; readonly kind: CredentialKind }[];
  readonly requirementFiles: ReadonlyMap<string, string>;
};

/** Looks into files one by one and keeps signs, not texts: its memory is that of one file. */
export type FileScan = {
  readonly signs: FileSigns;
  /** Whether `look` is to be shown the file; counts it as shown. */
  wants(path: string, sizeBytes: number): boolean;
  look(path: string, bytes: Uint8Array): void;
};

/** Environments and checkouts that were packed by mistake are others' code: what is in them says nothing of the program. */
const OTHERS_CODE = /(?:^|\/)(?:\.?venv|site-packages|node_modules|\.git|\.tox|\.nox|\.eggs)\//;

/** In the root, or in the one directory that holds everything. */
const REQUIREMENT_FILE = /^(?:[^/]+\/)?requirements[\w.-]*\.txt$/;

type Budget = { readonly bytesMax: number; readonly countMax: number; readonly fileBytesMax: number };

const SOURCES: Budget = {
  bytesMax: SCAN_LIMITS.sourcesBytesMax,
  countMax: SCAN_LIMITS.sourceCountMax,
  fileBytesMax: SCAN_LIMITS.sourceBytesMax,
};
const SECRETS: Budget = {
  bytesMax: SCAN_LIMITS.secretsBytesMax,
  countMax: SCAN_LIMITS.secretCountMax,
  fileBytesMax: SCAN_LIMITS.secretBytesMax,
};
const REQUIREMENTS: Budget = {
  bytesMax: SCAN_LIMITS.requirementFileBytesMax * SCAN_LIMITS.requirementFileCountMax,
  countMax: SCAN_LIMITS.requirementFileCountMax,
  fileBytesMax: SCAN_LIMITS.requirementFileBytesMax,
};

type Kept = {
  isComplete: boolean;
  readonly imports: Set<string>;
  readonly distribution: Set<DistributionSign>;
  readonly python2Lines: Map<string, number>;
  readonly credentials: { readonly path: string; readonly kind: CredentialKind }[];
  readonly requirementFiles: Map<string, string>;
};

export function createFileScan(): FileScan {
  const kept: Kept = {
    isComplete: true,
    imports: new Set(),
    distribution: new Set(),
    python2Lines: new Map(),
    credentials: [],
    requirementFiles: new Map(),
  };
  const admitSource = createGate(SOURCES);
  const admitSecret = createGate(SECRETS);
  const admitRequirements = createGate(REQUIREMENTS);
  return {
    signs: kept,
    wants(path, sizeBytes) {
      if (sizeBytes === 0 || OTHERS_CODE.test(path)) {
        return false;
      }
      if (path.endsWith('.py')) {
        const isAdmitted = admitSource(sizeBytes);
        kept.isComplete &&= isAdmitted;
        return isAdmitted;
      }
      return REQUIREMENT_FILE.test(path)
        ? admitRequirements(sizeBytes)
        : mayHoldCredential(path) && admitSecret(sizeBytes);
    },
    look: (path, bytes) => lookAt(kept, path, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
  };
}

function lookAt(kept: Kept, path: string, bytes: Buffer): void {
  const text = bytes.toString('utf8');
  if (REQUIREMENT_FILE.test(path)) {
    kept.requirementFiles.set(path, text);
    return;
  }
  if (path.endsWith('.py')) {
    const code = blankStrings(text);
    addAll(kept.imports, findImports(code));
    addAll(kept.distribution, findDistribution(text, code));
    const line = findPython2(code);
    if (line !== null && kept.python2Lines.size < SCAN_LIMITS.signCountMax) {
      kept.python2Lines.set(path, line);
    }
  }
  const kind = kept.credentials.length < SCAN_LIMITS.signCountMax ? findCredential(path, text) : null;
  if (kind !== null) {
    kept.credentials.push({ path, kind });
  }
}

/** Lets files through until their number or their bytes are used up. */
function createGate({ bytesMax, countMax, fileBytesMax }: Budget): (sizeBytes: number) => boolean {
  const used = { bytes: 0, count: 0 };
  return (sizeBytes) => {
    if (sizeBytes > fileBytesMax || used.bytes + sizeBytes > bytesMax || used.count >= countMax) {
      return false;
    }
    used.bytes += sizeBytes;
    used.count += 1;
    return true;
  };
}

function addAll<Item>(target: Set<Item>, items: Iterable<Item>): void {
  for (const item of items) {
    target.add(item);
  }
}
