import { parseArgs } from 'node:util';
import { isBuild, runtimeVariablesFor } from '#infra/machine-image/read-runtimes.ts';

const USAGE =
  'Usage: node infra/machine-image/print-runtime-images.ts --project PROJECT --build BUILD (such as v20261121)';

process.exitCode = main(process.argv.slice(2));

/** Prints Terraform's variables for a build of the default images. Returns the exit status. */
function main(args: readonly string[]): number {
  const options = readOptions(args);
  if (options === undefined) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  process.stdout.write(`${JSON.stringify(runtimeVariablesFor(options), null, 2)}\n`);
  return 0;
}

function readOptions(args: readonly string[]): { readonly projectId: string; readonly build: string } | undefined {
  try {
    const options = { project: { type: 'string' }, build: { type: 'string' } } as const;
    const { project, build } = parseArgs({ args: [...args], options }).values;
    return project === undefined || build === undefined || !isBuild(build) ? undefined : { projectId: project, build };
  } catch {
    return undefined;
  }
}
