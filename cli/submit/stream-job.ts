import type { ApiClient } from '#cli/client/api-client.ts';
import { type LogSelection, reportInterruption, streamLogs } from '#cli/client/follow-job.ts';
import type { Invocation, Output } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';
import { describeEnd } from '#cli/render/describe-job.ts';
import { type BestSoFar, betterOf, formatEndedTrial } from '#cli/render/describe-trial.ts';
import { formatLogEntry } from '#cli/render/format.ts';
import { paintState } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import { describeSearch } from '#shared/views/describe/describe-tuning.ts';

/**
 * Prints the log of a job, or of a tuning a line for each trial that has ended, until the job has ended, and how it
 * has.
 */
export async function streamJob(
  invocation: Invocation,
  api: ApiClient,
  { jobId, ...selection }: LogSelection & { readonly jobId: string },
): Promise<JobView> {
  const { io, print } = invocation;
  const signal = io.interrupted;
  const work = streamLogs(api, jobId, {
    signal,
    ...selection,
    onTuning: createTrialPrinter(invocation),
    onEntry: (entry) => print({ json: entry, text: formatLogEntry(entry, io.stdout) }),
  });
  const job = await reportInterruption(jobId, { signal, work });
  const title = `Job ${job.jobId} ended: ${paintState(job.state, io.stderr)}.`;
  io.stderr.write(`${describeEnd(title, job, io.stderr)}\n`);
  return job;
}

/** Prints what is searched, and then a line for each trial. */
function createTrialPrinter({ io, print }: Invocation) {
  return followTrials(io.stdout, {
    onStart: (text, jobId) => {
      const hint = `Each trial has a log of its own: ${programName()} jobs stream-logs ${jobId} --trial N`;
      io.stderr.write(`Job ${text}.\n${hint}\n`);
    },
    onTrial: (trial, text) => print({ json: trial, text }),
  });
}

type TrialListener = {
  /** Called once, with what is searched. */
  readonly onStart: (text: string, jobId: string, trialsMax: number) => void;
  readonly onTrial: (trial: TrialView, text: string) => void;
};

/** Describes the trials that have ended, each with the best one so far. */
export function followTrials(output: Output, { onStart, onTrial }: TrialListener) {
  let best: BestSoFar | undefined;
  let isFirst = true;
  return ({ tuning, jobId }: JobView, ended: readonly TrialView[]): void => {
    if (tuning === null) {
      return;
    }
    const { trialsMax, parallelTrialsMax } = tuning;
    if (isFirst) {
      isFirst = false;
      const search = `it ${describeSearch(tuning)}`;
      onStart(`${jobId} runs ${trialsMax} trials, ${parallelTrialsMax} at a time: ${search}`, jobId, trialsMax);
    }
    for (const trial of ended) {
      best = betterOf(best, trial, tuning);
      onTrial(trial, formatEndedTrial(trial, { tuning, best, output }));
    }
  };
}
