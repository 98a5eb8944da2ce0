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

/** The size of one file, and the size and number of all files together. */
type Budget = { readonly fileBytesMax: number; readonly bytesMax: number; readonly countMax: number };

/** Python sources: longer ones are usually generated or contain data. */
const SOURCES: Budget = { fileBytesMax: 256 * KIB, bytesMax: 2 * MIB, countMax: 500 };
/** Further Python sources, of which only the inline metadata is read: it decides what is installed. */
const SCRIPTS: Budget = { fileBytesMax: 4 * MIB, bytesMax: 32 * MIB, countMax: 5_000 };
/** Files whose names suggest credentials. A service account key has 2.4 KiB. */
const SECRETS: Budget = { fileBytesMax: 16 * KIB, bytesMax: 1 * MIB, countMax: 500 };
/** requirements.txt and similar files: exported ones list every package with checksums. */
const REQUIREMENTS: Budget = { fileBytesMax: 128 * KIB, bytesMax: 512 * KIB, countMax: 4 };

/** Findings of one kind. */
export const SCAN_FINDING_COUNT_MAX = 50;

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

function createEvidence() {
  const credentials: FileEvidence['credentials'][number][] = [];
  return {
    isComplete: true,
    imports: new Set<string>(),
    moduleImports: new Map<string, readonly ModuleImport[]>(),
    traits: new Set<ProgramTrait>(),
    scriptBlocks: new Map<string, string>(),
    distribution: new Set<DistributionIndicator>(),
    python2Lines: new Map<string, number>(),
    tensorflow1: new Map<string, Tensorflow1Use>(),
    relativePaths: new Map<string, readonly RelativePath[]>(),
    mentionsJobDir: false,
    credentials,
    requirementFiles: new Map<string, string>(),
  };
}

type MutableEvidence = ReturnType<typeof createEvidence>;

export function createFileScan(): FileScan {
  const evidence = createEvidence();
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
  const kind = evidence.credentials.length < SCAN_FINDING_COUNT_MAX ? findCredential(path, text) : null;
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
  if (line !== null && evidence.python2Lines.size < SCAN_FINDING_COUNT_MAX) {
    evidence.python2Lines.set(path, line);
  }
  evidence.mentionsJobDir ||= JOB_DIR.test(text);
  const relativePaths = findRelativePaths(text);
  if (relativePaths.length > 0) {
    evidence.relativePaths.set(path, relativePaths);
  }
  addScriptBlock(evidence, path, text);
  const use = findTensorflow1(code);
  if (use !== null && evidence.tensorflow1.size < SCAN_FINDING_COUNT_MAX) {
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
