import { posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { Failure } from '#cli/core/failure.ts';
import { collectSourceFiles, REQUIREMENTS_FILE, type SourceFile, type SourceFiles } from '#cli/submit/source-files.ts';
import { createFindings } from '#shared/package/archive/package-problem.ts';
import type { ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import { declaresDependencies, isInstallable } from '#shared/package/metadata/project-files.ts';
import { readSourceProject } from '#shared/package/metadata/source-project.ts';
import { createFileScan } from '#shared/package/scan/file-scan.ts';

/** A package ready to be uploaded. Reproducible: equal sources give equal bytes. */
export type SourceDistribution = {
  readonly fileName: string;
  readonly bytes: Uint8Array;
  /** Symbolic links that it leaves out. */
  readonly links: readonly string[];
};

const SOURCE_BYTES_MAX = 200 * 2 ** 20;

/** Used if the project states no version, or computes it in code. */
const VERSION_UNKNOWN = '0.0.0';

/** Versions that are safe in a file name; a superset of PEP 440. */
const VERSION_PATTERN = /^[A-Za-z0-9][\w.!+-]{0,99}$/;

/** A fixed time makes the archive reproducible; zip files, and therefore wheels, cannot represent times before 1980. */
const MODIFIED_AT = new Date('1980-01-02T00:00:00Z');

type BuildOptions = {
  /** Files to add, or to replace, by path. */
  readonly extraFiles?: Readonly<Record<string, string>>;
  /** Requirements in pip's syntax, in addition to those of the package. */
  readonly requirements?: readonly string[];
  /** Whether a folder is included as a whole, even if it is a package. */
  readonly isWhole?: boolean;
};

/**
 * Builds a package by the rules of `gcloud ai-platform jobs submit training --package-path`, but without running Python:
 * the package and the files next to it that its installation may need; or any other folder, or a single .py file. A
 * project's archive is named after its name and version. Throws Failure if the requirements cannot be added.
 */
export async function buildSourceDistribution(
  packagePath: string,
  { extraFiles = {}, requirements = [], isWhole = false }: BuildOptions = {},
): Promise<SourceDistribution> {
  const { packageName, files, emptyFolders, links, hasBuildFile, isNamedFolder } = await collectSourceFiles(
    packagePath,
    isWhole,
  );
  rejectOversized(packagePath, files);
  const texts = await readProjectTexts(files);
  const metadata = readProjectMetadata(files, texts);
  const name = (metadata.name ?? packageName).replace(/[^A-Za-z0-9_.]+/g, '_');
  const stated = metadata.version ?? '';
  const version = VERSION_PATTERN.test(stated) ? stated : VERSION_UNKNOWN;
  const written = new Map<string, string>([
    ...(hasBuildFile ? [['PKG-INFO', `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`] as const] : []),
    ...(requirements.length === 0
      ? []
      : [[REQUIREMENTS_FILE, extendRequirements(packagePath, texts, requirements)] as const]),
    ...Object.entries(extraFiles),
  ]);
  const kept = files.filter(({ path }) => !written.has(path));
  const project = hasBuildFile ? `${name}-${version}` : '';
  const bytes = await packFiles(isNamedFolder ? packageName : project, written, { files: kept, emptyFolders });
  return { fileName: `${name}-${version}.tar.gz`, bytes, links };
}

function extendRequirements(
  packagePath: string,
  texts: ReadonlyMap<string, string>,
  requirements: readonly string[],
): string {
  const textOf = (name: string) => texts.get(name) ?? null;
  const project = {
    setupScript: textOf('setup.py'),
    setupConfig: textOf('setup.cfg'),
    pyproject: textOf('pyproject.toml'),
  };
  if (isInstallable(project) && declaresDependencies(project)) {
    throw new Failure(
      `${packagePath} declares its own requirements: add ${requirements.join(', ')} to its setup.py or pyproject.toml.`,
    );
  }
  return [texts.get(REQUIREMENTS_FILE) ?? '', ...requirements, ''].join('\n');
}

function rejectOversized(packagePath: string, files: readonly SourceFile[]): void {
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  if (sizeBytes > SOURCE_BYTES_MAX) {
    const largest = files.reduce((a, b) => (b.sizeBytes > a.sizeBytes ? b : a));
    throw new Failure(
      `The package ${packagePath} has ${formatMib(sizeBytes)}, more than the maximum of ${formatMib(SOURCE_BYTES_MAX)}. ` +
        `The largest file is ${largest.path} (${formatMib(largest.sizeBytes)}). Put training data into a bucket.`,
    );
  }
}

async function packFiles(
  root: string,
  written: ReadonlyMap<string, string>,
  { files, emptyFolders }: Pick<SourceFiles, 'files' | 'emptyFolders'>,
): Promise<Uint8Array> {
  const archive = pack();
  const packed = buffer(archive.pipe(createGzip({ level: 9 })));
  for (const [path, content] of written) {
    archive.entry({ name: posix.join(root, path), mode: 0o644, mtime: MODIFIED_AT }, content);
  }
  for (const { path, isExecutable, read } of files) {
    archive.entry(
      { name: posix.join(root, path), mode: isExecutable ? 0o755 : 0o644, mtime: MODIFIED_AT },
      await read(),
    );
  }
  for (const path of emptyFolders) {
    archive.entry({ name: `${posix.join(root, path)}/`, type: 'directory', mode: 0o755, mtime: MODIFIED_AT });
  }
  archive.finalize();
  return packed;
}

function formatMib(sizeBytes: number): string {
  return `${Math.ceil(sizeBytes / 2 ** 20)} MiB`;
}

const PROJECT_TEXTS = ['setup.py', 'setup.cfg', 'pyproject.toml', REQUIREMENTS_FILE];

async function readProjectTexts(files: readonly SourceFile[]): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const { path, read } of files.filter((file) => PROJECT_TEXTS.includes(file.path))) {
    texts.set(path, Buffer.from(await read()).toString('utf8'));
  }
  return texts;
}

/**
 * Reads a project's static metadata as intake does; null for values that are computed in code. Problems are not
 * reported here: the built archive is validated.
 */
function readProjectMetadata(files: readonly SourceFile[], texts: ReadonlyMap<string, string>): ProjectMetadata {
  const paths = files.map(({ path }) => path);
  const { metadata } = readSourceProject(
    {
      paths,
      has: (path) => paths.includes(path),
      pathOf: (path) => path,
      readText: (path) => texts.get(path) ?? null,
      // Files are not scanned, because only metadata is needed.
      evidence: createFileScan().evidence,
    },
    createFindings(),
  );
  return metadata;
}
