import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { ExitCode, Invocation } from '#cli/command.ts';
import { describeError, Failure } from '#cli/failure.ts';
import { isGsUri } from '#cli/objects/gs-uri.ts';
import { describeProblem } from '#cli/submission/describe-report.ts';
import { readAccelerator, readPairs } from '#cli/submission/job-resource.ts';
import { applyOverrides, type TrainingOverrides } from '#shared/spec/apply-overrides.ts';
import { checkJob } from '#shared/spec/check-job.ts';
import type { JobContext } from '#shared/spec/job-context.ts';
import { EMPTY_DRAFT } from '#shared/spec/job-draft.ts';
import { printJobFile } from '#shared/spec/print-job-file.ts';
import { readJobFile } from '#shared/spec/read-job-file.ts';

/** Stands in for what a deployment says, which no file is judged by. */
export const OFFLINE_CONTEXT: JobContext = {
  defaults: { region: 'us-central1', runtimeVersion: '2.11', jobDirBase: 'gs://jobs' },
  packageBase: 'gs://uploads',
  uploadBucket: null,
};

/** Shows the job that a submission would make, completed and judged, and does nothing else; no cloud is needed. */
export async function dryRun(invocation: Invocation, jobId: string): Promise<ExitCode> {
  const { flag, io, print } = invocation;
  const config = flag('config');
  const reading = config === undefined ? undefined : await readConfig(resolve(io.cwd, config));
  const draft = reading === undefined ? EMPTY_DRAFT : reading.draft;
  const judged =
    draft === null ? null : checkJob(applyOverrides(draft, overridesOf(invocation, jobId)), OFFLINE_CONTEXT);
  const { problems, warnings } = judged ?? { problems: reading?.problems ?? [], warnings: [] };
  const spec = judged?.spec ?? null;
  print({
    json: { spec, problems, warnings },
    text: [
      ...(spec === null ? [] : [printJobFile(spec).trimEnd()]),
      ...problems.map((problem) => `- ${describeProblem(problem)}`),
      ...warnings.map((warning) => `- warning: ${describeProblem(warning)}`),
    ].join('\n'),
  });
  return spec === null ? 1 : 0;
}

async function readConfig(path: string) {
  try {
    return readJobFile(await readFile(path), { fileName: basename(path) });
  } catch (error) {
    throw new Failure(`The job file ${path} cannot be read (${describeError(error)}): check --config.`);
  }
}

function overridesOf({ flag, rest }: Invocation, jobId: string): TrainingOverrides {
  const accelerator = flag('master-accelerator');
  const labels = flag('labels');
  const packages = namePackages(flag);
  const given = {
    scaleTier: flag('scale-tier'),
    masterType: flag('master-machine-type'),
    pythonModule: flag('module-name'),
    region: flag('region'),
    jobDir: flag('job-dir'),
    runtimeVersion: flag('runtime-version'),
    pythonVersion: flag('python-version'),
  };
  return {
    jobId,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    ...(labels === undefined ? {} : { labels: readPairs('labels', labels) }),
    ...(accelerator === undefined ? {} : { masterAccelerator: countedAccelerator(accelerator) }),
    ...(packages.length === 0 ? {} : { packageUris: packages }),
    ...(rest.length === 0 ? {} : { args: rest }),
  };
}

function countedAccelerator(text: string) {
  const { type, count } = readAccelerator(text);
  return { type, count: Number(count) };
}

/** What would be uploaded stands under the name that it has here. */
function namePackages(flag: Invocation['flag']): readonly string[] {
  const packagePath = flag('package-path');
  const named = (flag('packages') ?? '').split(',').filter((path) => path !== '');
  const built = packagePath === undefined ? [] : [`${basename(resolve(packagePath))}.tar.gz`];
  return [...built, ...named.map((path) => (isGsUri(path) ? path : basename(path)))];
}
