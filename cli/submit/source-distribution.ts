import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { Failure } from '#cli/core/failure.ts';
import { collectSourceFiles, type SourceFile } from '#cli/submit/source-files.ts';
import { createFindings } from '#shared/package/archive/package-problem.ts';
import type { ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import { readSourceProject } from '#shared/package/metadata/source-project.ts';
import { createFileScan } from '#shared/package/scan/file-scan.ts';

/** A package ready to be uploaded. Reproducible: equal sources give equal bytes. */
export type SourceDistribution = {
  readonly fileName: string;
  readonly bytes: Uint8Array;
  /** Messages for the user about how the package was built. */
  readonly notes: readonly string[];
};

const SOURCE_BYTES_MAX = 200 * 2 ** 20;

/** Used if the project states no version, or computes it in code. */
const VERSION_UNKNOWN = '0.0.0';

/** Versions that are safe in a file name; a superset of PEP 440. */
const VERSION_PATTERN = /^[A-Za-z0-9][\w.!+-]{0,99}$/;

/** A fixed time makes the archive reproducible; zip files, and therefore wheels, cannot represent times before 1980. */
const MODIFIED_AT = new Date('1980-01-02T00:00:00Z');

/**
 * Builds a source distribution by the rules of `gcloud ai-platform jobs submit training --package-path`, but without
 * running Python: the package, the files next to it that its installation may need, and a minimal setup.py if there is
 * none. The archive is named after the project's name and version.
 *
 * @param requirements for the minimal setup.py. Throws Failure if the project has a setup.py or pyproject.toml.
 */
export async function buildSourceDistribution(
  packagePath: string,
  extraFiles: Readonly<Record<string, string>> = {},
  requirements: readonly string[] = [],
): Promise<SourceDistribution> {
  const { packageName, files, isInstallable, notes } = await collectSourceFiles(packagePath);
  rejectOversized(packagePath, files);
  if (isInstallable && requirements.length > 0) {
    throw new Failure(
      `${packagePath} declares its own requirements: add ${requirements.join(', ')} to its setup.py or pyproject.toml.`,
    );
  }
  const metadata = await readProjectMetadata(files);
  const name = (metadata.name ?? packageName).replace(/[^A-Za-z0-9_.]+/g, '_');
  const stated = metadata.version ?? '';
  const version = VERSION_PATTERN.test(stated) ? stated : VERSION_UNKNOWN;
  const written = new Map<string, string>([
    ['PKG-INFO', `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`],
  ]);
  if (!isInstallable) {
    written.set('setup.py', writeSetup(packageName, { name, requirements }));
  }
  for (const [path, content] of Object.entries(extraFiles)) {
    written.set(path, content);
  }
  const kept = files.filter(({ path }) => !written.has(path));
  const bytes = await packFiles(`${name}-${version}`, written, kept);
  return {
    fileName: `${name}-${version}.tar.gz`,
    bytes,
    notes: isInstallable
      ? notes
      : [...notes, `No setup.py found next to ${packageName}: added a minimal one to the archive.`],
  };
}

/** Unlike gcloud's minimal setup.py, this one includes sub-packages and data files. */
function writeSetup(packageName: string, project: { name: string; requirements: readonly string[] }): string {
  // A JSON string is also a valid Python string.
  const python = JSON.stringify(packageName);
  return [
    'from setuptools import find_packages, setup',
    '',
    "if __name__ == '__main__':",
    '    setup(',
    `        name=${JSON.stringify(project.name)},`,
    `        version='${VERSION_UNKNOWN}',`,
    `        packages=find_packages(include=[${python}, ${python} + '.*']),`,
    "        package_data={'': ['*']},",
    ...(project.requirements.length === 0 ? [] : [`        install_requires=${JSON.stringify(project.requirements)},`]),
    '    )',
    '',
  ].join('\n');
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
  files: readonly SourceFile[],
): Promise<Uint8Array> {
  const archive = pack();
  const packed = buffer(archive.pipe(createGzip({ level: 9 })));
  for (const [path, content] of written) {
    archive.entry({ name: `${root}/${path}`, mode: 0o644, mtime: MODIFIED_AT }, content);
  }
  for (const { path, isExecutable, read } of files) {
    archive.entry({ name: `${root}/${path}`, mode: isExecutable ? 0o755 : 0o644, mtime: MODIFIED_AT }, await read());
  }
  archive.finalize();
  return packed;
}

function formatMib(sizeBytes: number): string {
  return `${Math.ceil(sizeBytes / 2 ** 20)} MiB`;
}

const METADATA_FILES = ['setup.py', 'setup.cfg', 'pyproject.toml'];

/**
 * Reads a project's static metadata as intake does; null for values that are computed in code. Problems are not
 * reported here: the built archive is validated.
 */
async function readProjectMetadata(files: readonly SourceFile[]): Promise<ProjectMetadata> {
  const texts = new Map<string, string>();
  for (const { path, read } of files.filter((file) => METADATA_FILES.includes(file.path))) {
    texts.set(path, Buffer.from(await read()).toString('utf8'));
  }
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
