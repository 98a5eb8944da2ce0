import { writeFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import type { ApiClient } from '#cli/client/api-client.ts';
import { openApi } from '#cli/client/open-api.ts';
import { listTrials } from '#cli/client/trials.ts';
import { type Command, defineFlag, type ExitCode, type Flag, type Invocation } from '#cli/core/command.ts';
import { describeError, Failure, UsageFailure } from '#cli/core/failure.ts';
import { GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { programName } from '#cli/core/program-name.ts';
import { readNumber } from '#cli/core/read-number.ts';
import { formatTrials } from '#cli/render/describe-trial.ts';
import { isTuningJob, type TuningJob } from '#cli/render/describe-tuning.ts';
import { formatCsv } from '#cli/render/format-csv.ts';
import { describeMeasuredTrial } from '#cli/render/measured-trial.ts';
import { sortBestFirst, sortTrials } from '#cli/render/sort-trials.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import { TRIALS_MAX } from '#shared/tuning/trial.ts';

const TRIALS_COUNT_DEFAULT = 50;

const FLAGS: readonly Flag[] = [
  defineFlag(
    'sort-by COLUMN',
    'trial, state, objective, step, start, end, duration, cost, or a parameter; ~COLUMN for descending order',
  ),
  defineFlag('limit N', `maximum number of trials, 1 to ${TRIALS_MAX} (default ${TRIALS_COUNT_DEFAULT})`),
  defineFlag('export FILE.csv', 'write all trials as CSV'),
  ...GCLOUD_JOB_FLAGS,
];

export const trials: Command = {
  operands: [
    { name: 'JOB', summary: 'the id of the tuning job', count: 'one' },
    { name: 'TRIAL', summary: 'show one trial with what it has measured', count: 'optional' },
  ],
  example: 'digits_search --sort-by=~cost',
  flags: FLAGS,
  notes: 'Sorted best first.',
  async run(invocation) {
    const { flag, isSet, operands } = invocation;
    const countMax = readNumber(invocation, 'limit', { max: TRIALS_MAX }) ?? TRIALS_COUNT_DEFAULT;
    const [jobId = '', trialId] = operands;
    const file = flag('export');
    if (file !== undefined && extname(file).toLowerCase() !== '.csv') {
      throw new UsageFailure(`--export ${file}: use a name that ends with .csv.`);
    }
    if (trialId !== undefined && (isSet('export') || isSet('sort-by') || isSet('limit'))) {
      throw new UsageFailure('--export, --sort-by and --limit are for the list of trials: remove them or TRIAL.');
    }
    if (isSet('export') && isSet('limit')) {
      throw new UsageFailure('--export writes all trials: remove --limit.');
    }
    const { api } = await openApi(invocation);
    const job = await getTuning(api, jobId);
    if (trialId !== undefined) {
      return showTrial(invocation, { api, job, trialId });
    }
    const found = await listTrials(api, jobId);
    const by = flag('sort-by');
    const sorted = by === undefined ? sortBestFirst(found, job.tuning) : sortTrials(found, { by, tuning: job.tuning });
    return file === undefined
      ? showTrials(invocation, { job, sorted, countMax })
      : exportTrials(invocation, { sorted, file });
  },
};

/** Throws Failure if the job is not a tuning. */
async function getTuning(api: ApiClient, jobId: string): Promise<TuningJob> {
  const job = await api.getJob(jobId);
  if (!isTuningJob(job)) {
    const instead =
      job.trial === null
        ? `see \`${programName()} jobs describe ${jobId}\``
        : `see \`${programName()} trials ${job.trial.tuningId} ${job.trial.trialId}\``;
    throw new Failure(`Job ${jobId} is not a tuning job, and has no trials: ${instead}.`);
  }
  return job;
}

async function showTrial(
  { io, print }: Invocation,
  { api, job, trialId }: { readonly api: ApiClient; readonly job: TuningJob; readonly trialId: string },
): Promise<ExitCode> {
  if (!/^[1-9]\d{0,5}$/.test(trialId)) {
    throw new UsageFailure(`'${trialId}' is not the id of a trial: use a number from 1.`);
  }
  const trial = await api.getTrial(job.jobId, trialId);
  print({ json: trial, text: describeMeasuredTrial(trial, { job, nowMs: Date.now(), output: io.stdout }) });
  return 0;
}

type Found = { readonly job: TuningJob; readonly sorted: readonly TrialView[] };

function showTrials({ io, print }: Invocation, { job, sorted, countMax }: Found & { countMax: number }): ExitCode {
  const shown = sorted.slice(0, countMax);
  const text =
    shown.length === 0
      ? `Job ${job.jobId} has no trials yet: its first values are being chosen.`
      : formatTrials(shown, job.tuning, io.stdout);
  print({ json: shown, text });
  if (sorted.length > shown.length) {
    io.stderr.write(`There are ${sorted.length} trials: use --limit ${sorted.length} to list all of them.\n`);
  }
  return 0;
}

async function exportTrials(
  { io, print }: Invocation,
  { sorted, file }: Pick<Found, 'sorted'> & { readonly file: string },
): Promise<ExitCode> {
  const { text } = formatCsv(sorted, { fields: [], hasHead: true });
  const path = resolve(io.cwd, file);
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new Failure(`The trials cannot be written to ${path} (${describeError(error)}): check --export.`);
  }
  print({ json: { file: path, trialCount: sorted.length }, text: `${sorted.length} trials are in ${file}.` });
  return 0;
}
