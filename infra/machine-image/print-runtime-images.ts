import { parseArgs } from 'node:util';
import { isBuild, runtimeVariablesFor } from '#infra/machine-image/read-runtimes.ts';

const USAGE =
  'Usage: node infra/machine-image/print-runtime-images.ts --project PROJECT --build BUILD (such as v20261121)';

process.exitCode = main(process.argv.slice(2));

/** Prints Terraform's variables for a build of the default images. Gives the exit status. */
function main(words: readonly string[]): number {
  const place = readPlace(words);
  if (place === undefined) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  process.stdout.write(`${JSON.stringify(runtimeVariablesFor(place), null, 2)}\n`);
  return 0;
}

function readPlace(words: readonly string[]): { readonly projectId: string; readonly build: string } | undefined {
  try {
    const options = { project: { type: 'string' }, build: { type: 'string' } } as const;
    const { project, build } = parseArgs({ args: [...words], options }).values;
    return project === undefined || build === undefined || !isBuild(build) ? undefined : { projectId: project, build };
  } catch {
    return undefined;
  }
}
