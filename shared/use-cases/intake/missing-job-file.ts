import type { Problem } from '#shared/protocol/problem.ts';

/** Returns the problem of a package, or of a file that is one, that has no job file beside it. */
export function describeMissingJobFile(fileName: string): Problem {
  const code = 'JOB_FILE_MISSING';
  if (fileName.endsWith('.py')) {
    const run = `python ${fileName}`;
    const message = `${fileName} is a Python program, and nothing says that it runs: it has no job file.`;
    const jobFile = `{module: ${fileName}, packages: [${fileName}], machine: n1-standard-4}`;
    return { code, message, remedy: `Upload a job.yaml beside it with ${jobFile}, which runs \`${run}\`.` };
  }
  if (fileName.endsWith('.txt')) {
    const message = `${fileName} lists packages that pip installs for a program, and starts nothing by itself.`;
    return { code, message, remedy: `Upload a job.yaml beside it that names ${fileName} and the program in packages.` };
  }
  const message = `${fileName} is a valid package but has no job.yaml at its root.`;
  const remedy = `Upload a job.yaml beside it that names ${fileName} under trainingInput.packageUris, or add one to the root of the package.`;
  return { code, message, remedy };
}
