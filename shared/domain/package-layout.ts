import * as z from 'zod';
import type { Stated } from '#shared/domain/stated.ts';

const paths = z.array(z.string()).readonly();

/** The program that `python -m MODULE` or `python SCRIPT` runs, and its file. */
const packageProgramSchema = z.object({ kind: z.enum(['MODULE', 'SCRIPT']), path: z.string() });
export type PackageProgram = Stated<typeof packageProgramSchema>;

/**
 * How a package is made runnable. Directories and files are relative to the archive; '' is its root. `PROJECT` and
 * `WHEEL` are installed with pip; `SOURCES` and `FILE` (a program, or a requirements file) stay where they are unpacked.
 */
export const packageLayoutSchema = z.object({
  style: z.enum(['WHEEL', 'PROJECT', 'SOURCES', 'FILE']),
  /** The directory of the project's build file, or the directory from which the sources run. */
  root: z.string(),
  /** Directories from which the package's modules can be imported without an installation, in order. */
  importRoots: paths,
  /** The program to run; null if the package does not contain it. */
  program: packageProgramSchema.nullable(),
  /** The program's working directory; null if it is a directory without the package's files. */
  workingDirectory: z.string().nullable(),
  /** Requirements files to install. */
  requirementFiles: paths,
  /** Requirements to install, from the pyproject.toml of sources and the inline metadata of a script (PEP 723). */
  requirements: paths,
});
export type PackageLayout = Stated<typeof packageLayoutSchema>;
