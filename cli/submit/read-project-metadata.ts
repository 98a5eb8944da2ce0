import type { SourceFile } from '#cli/submit/source-files.ts';
import { createFindings } from '#shared/package/archive/package-problem.ts';
import type { ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import { readSourceProject } from '#shared/package/metadata/source-project.ts';
import { createFileScan } from '#shared/package/scan/file-scan.ts';

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
