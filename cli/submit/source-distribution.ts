import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { Failure } from '#cli/core/failure.ts';
import { collectSourceFiles, type SourceFile } from '#cli/submit/source-files.ts';
import { createFindings } from '#shared/package/archive/package-problem.ts';
import type { ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import { readSourceProject } from '#shared/package/metadata/source-project.ts';
import { createFileScan } from '#shared/package/scan/file-scan.ts';

/** A package ready to be uploaded. Equal sources give equal bytes. */
export type SourceDistribution = {
  readonly fileName: string;
  readonly bytes: Uint8Array;
  /** What a user may want to know about how it was made. */
  readonly notes: readonly string[];
};

const SOURCE_BYTES_MAX = 200 * 2 ** 20;

/** What a project is called that says no version, or one that only running it would tell. */
const VERSION_UNKNOWN = '0.0.0';

/** Of what a file name can hold: more than the versions of PEP 440. */
const VERSION_PATTERN = /^[A-Za-z0-9][\w.!+-]{0,99}$/;

/** A zip, and so a wheel, knows no time before 1980; any fixed one makes equal sources equal archives. */
const MODIFIED_AT = new Date('1980-01-02T00:00:00Z');

/**
 * Builds a source distribution by the rules of `gcloud ai-platform jobs submit training --package-path`, but without
 * Python: the package, the files beside it that its installation may need, and a minimal setup.py where there is none.
 * It is named after the name and version that the project states.
 *
 * @param requirements what the minimal setup.py asks for; a project with a setup.py of its own cannot be given any
 */
export async function buildSourceDistribution(
  packagePath: string,
  extraFiles: Readonly<Record<string, string>> = {},
  requirements: readonly string[] = [],
): Promise<SourceDistribution> {
  const { packageName, files, isInstallable, notes } = await collectSourceFiles(packagePath);
  refuseTooLarge(packagePath, files);
  if (isInstallable && requirements.length > 0) {
    throw new Failure(
      `${packagePath} says itself what it requires: write ${requirements.join(', ')} into its setup.py or pyproject.toml.`,
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
      : [...notes, `There is no setup.py beside ${packageName}: a minimal one was put into the archive.`],
  };
}

/** gcloud's own minimal setup.py leaves sub-packages and data files out, which nobody expects: here they are in. */
function writeSetup(packageName: string, project: { name: string; requirements: readonly string[] }): string {
  // A JSON string is a Python string, too.
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

function refuseTooLarge(packagePath: string, files: readonly SourceFile[]): void {
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  if (sizeBytes > SOURCE_BYTES_MAX) {
    const largest = files.reduce((a, b) => (b.sizeBytes > a.sizeBytes ? b : a));
    throw new Failure(
      `The package ${packagePath} holds ${formatMib(sizeBytes)}, more than the ${formatMib(SOURCE_BYTES_MAX)} that one ` +
        `may; its largest file is ${largest.path} (${formatMib(largest.sizeBytes)}). Put training data into a bucket.`,
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
 * What a project says about itself without being run, read as intake reads it; null where only running it would tell.
 * What is wrong with it is not said here: intake judges the archive.
 */
export async function readProjectMetadata(files: readonly SourceFile[]): Promise<ProjectMetadata> {
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
      // Nothing was looked into: only metadata is asked for.
      signs: createFileScan().signs,
    },
    createFindings(),
  );
  return metadata;
}
