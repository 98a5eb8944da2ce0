import { type CredentialKind, findCredential, mayContainCredential } from '#shared/package/scan/credential-patterns.ts';
import { findModuleImports, type ModuleImport } from '#shared/package/scan/module-imports.ts';
import {
  type DistributionIndicator,
  findDistribution,
  findImports,
  findPython2,
  findTraits,
  type ProgramTrait,
} from '#shared/package/scan/python-indicators.ts';
import { blankStrings } from '#shared/package/scan/python-text.ts';
import { findRelativePaths, type RelativePath } from '#shared/package/scan/relative-paths.ts';
import { findScriptBlock } from '#shared/package/scan/script-block.ts';
import { findTensorflow1, type Tensorflow1Use } from '#shared/package/scan/tensorflow1.ts';

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** Limits of scanning files for lint evidence in one inspection; files beyond them are not scanned. */
export const SCAN_LIMITS = {
  /** All Python sources. */
  sourcesBytesMax: 2 * MIB,
  sourceCountMax: 500,
  /** One Python source: longer ones are usually generated or contain data. */
  sourceBytesMax: 256 * KIB,
  /** All further Python sources, of which only the inline metadata is read: it decides what is installed. */
  scriptsBytesMax: 32 * MIB,
  scriptCountMax: 5_000,
  scriptBytesMax: 4 * MIB,
  /** All files whose names suggest credentials. A service account key has 2.4 KiB. */
  secretsBytesMax: 1 * MIB,
  secretCountMax: 500,
  secretBytesMax: 16 * KIB,
  /** requirements.txt and similar files: exported ones list every package with checksums. */
  requirementFileBytesMax: 128 * KIB,
  requirementFileCountMax: 4,
  /** Findings of one kind. */
  findingCountMax: 50,
} as const;

/** Evidence from the files of an archive. Paths are relative to the archive and not sanitized. */
export type FileEvidence = {
  /** Whether every Python source was scanned; otherwise the absence of an indicator means nothing. */
  readonly isComplete: boolean;
  /** Top-level names of all imported modules. */
  readonly imports: ReadonlySet<string>;
  /** The imports at the top level of every source. */
  readonly moduleImports: ReadonlyMap<string, readonly ModuleImport[]>;
  readonly traits: ReadonlySet<ProgramTrait>;
  /** The inline metadata of scripts (PEP 723), by source. */
  readonly scriptBlocks: ReadonlyMap<string, string>;
  readonly distribution: ReadonlySet<DistributionIndicator>;
  /** The number, from 1, of the first line that Python 3 cannot parse, by path. */
  readonly python2Lines: ReadonlyMap<string, number>;
  readonly tensorflow1: ReadonlyMap<string, Tensorflow1Use>;
  /** Strings that may be relative paths, by source. */
  readonly relativePaths: ReadonlyMap<string, readonly RelativePath[]>;
  /** Whether a Python source names a job directory, as an argument or a variable. */
  readonly mentionsJobDir: boolean;
  /** Location and kind of credentials, never the secret itself. */
  readonly credentials: readonly { readonly path: string; readonly kind: CredentialKind }[];
  readonly requirementFiles: ReadonlyMap<string, string>;
};

/** Scans files one by one. Keeps evidence, not texts, so its memory is that of one file. */
export type FileScan = {
  readonly evidence: FileEvidence;
  /** Whether `scan` needs the file; counts it against the limits. */
  wants(path: string, sizeBytes: number): boolean;
  scan(path: string, bytes: Uint8Array): void;
};

/** Environments and checkouts that were packed by mistake contain third-party code. */
const THIRD_PARTY = /(?:^|\/)(?:\.?venv|site-packages|node_modules|\.git|\.tox|\.nox|\.eggs)\//;

/** The argument that AI Platform passes, in every spelling that argument parsers turn it into. */
const JOB_DIR = /job[-_]?dir/i;

/** In the root or the only top-level directory. */
const REQUIREMENT_FILE = /^(?:[^/]+\/)?requirements[\w.-]*\.txt$/;

type Budget = { readonly bytesMax: number; readonly countMax: number; readonly fileBytesMax: number };

const SOURCES: Budget = {
  bytesMax: SCAN_LIMITS.sourcesBytesMax,
  countMax: SCAN_LIMITS.sourceCountMax,
  fileBytesMax: SCAN_LIMITS.sourceBytesMax,
};
const SCRIPTS: Budget = {
  bytesMax: SCAN_LIMITS.scriptsBytesMax,
  countMax: SCAN_LIMITS.scriptCountMax,
  fileBytesMax: SCAN_LIMITS.scriptBytesMax,
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

type MutableEvidence = {
  isComplete: boolean;
  readonly imports: Set<string>;
  readonly moduleImports: Map<string, readonly ModuleImport[]>;
  readonly traits: Set<ProgramTrait>;
  readonly scriptBlocks: Map<string, string>;
  readonly distribution: Set<DistributionIndicator>;
  readonly python2Lines: Map<string, number>;
  readonly tensorflow1: Map<string, Tensorflow1Use>;
  readonly relativePaths: Map<string, readonly RelativePath[]>;
  mentionsJobDir: boolean;
  readonly credentials: { readonly path: string; readonly kind: CredentialKind }[];
  readonly requirementFiles: Map<string, string>;
};

export function createFileScan(): FileScan {
  const evidence: MutableEvidence = {
    isComplete: true,
    imports: new Set(),
    moduleImports: new Map(),
    traits: new Set(),
    scriptBlocks: new Map(),
    distribution: new Set(),
    python2Lines: new Map(),
    tensorflow1: new Map(),
    relativePaths: new Map(),
    mentionsJobDir: false,
    credentials: [],
    requirementFiles: new Map(),
  };
  const admitSource = createQuota(SOURCES);
  const admitScript = createQuota(SCRIPTS);
  const scripts = new Set<string>();
  const admitSecret = createQuota(SECRETS);
  const admitRequirements = createQuota(REQUIREMENTS);
  return {
    evidence,
    wants(path, sizeBytes) {
      if (sizeBytes === 0 || THIRD_PARTY.test(path)) {
        return false;
      }
      if (path.endsWith('.py')) {
        const isAdmitted = admitSource(sizeBytes);
        evidence.isComplete &&= isAdmitted;
        if (!isAdmitted && admitScript(sizeBytes)) {
          scripts.add(path);
        }
        return isAdmitted || scripts.has(path);
      }
      return REQUIREMENT_FILE.test(path)
        ? admitRequirements(sizeBytes)
        : mayContainCredential(path) && admitSecret(sizeBytes);
    },
    scan(path, bytes) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
      if (scripts.has(path)) {
        addScriptBlock(evidence, path, text);
      } else {
        scanFile(evidence, path, text);
      }
    },
  };
}

function scanFile(evidence: MutableEvidence, path: string, text: string): void {
  if (REQUIREMENT_FILE.test(path)) {
    evidence.requirementFiles.set(path, text);
  }
  if (path.endsWith('.py')) {
    scanSource(evidence, path, text);
  }
  const kind = evidence.credentials.length < SCAN_LIMITS.findingCountMax ? findCredential(path, text) : null;
  if (kind !== null) {
    evidence.credentials.push({ path, kind });
  }
}

function scanSource(evidence: MutableEvidence, path: string, text: string): void {
  const code = blankStrings(text);
  addAll(evidence.imports, findImports(code));
  evidence.moduleImports.set(path, findModuleImports(code));
  addAll(evidence.traits, findTraits(text, code));
  addAll(evidence.distribution, findDistribution(text, code));
  const line = findPython2(code);
  if (line !== null && evidence.python2Lines.size < SCAN_LIMITS.findingCountMax) {
    evidence.python2Lines.set(path, line);
  }
  evidence.mentionsJobDir ||= JOB_DIR.test(text);
  const relativePaths = findRelativePaths(text);
  if (relativePaths.length > 0) {
    evidence.relativePaths.set(path, relativePaths);
  }
  addScriptBlock(evidence, path, text);
  const use = findTensorflow1(code);
  if (use !== null && evidence.tensorflow1.size < SCAN_LIMITS.findingCountMax) {
    evidence.tensorflow1.set(path, use);
  }
}

function addScriptBlock(evidence: MutableEvidence, path: string, text: string): void {
  const block = findScriptBlock(text);
  if (block !== null) {
    evidence.scriptBlocks.set(path, block);
  }
}

/** Admits files until their number or total size reaches the limit. */
function createQuota({ bytesMax, countMax, fileBytesMax }: Budget): (sizeBytes: number) => boolean {
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
