import { createApiClient } from '#cli/client/api-client.ts';
import type { Target } from '#cli/client/find-target.ts';
import { reportInterruption, streamLogs } from '#cli/client/follow-job.ts';
import type { Invocation } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';
import { describeEnd } from '#cli/render/describe-job.ts';
import { type BestSoFar, betterOf, formatEndedTrial } from '#cli/render/describe-trial.ts';
import { isTuningJob } from '#cli/render/describe-tuning.ts';
import { formatLogEntry } from '#cli/render/format.ts';
import { paintState } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import { describeSearch } from '#shared/views/describe/describe-tuning.ts';

/** Prints the log of a job, or of a tuning a line for each trial that has ended, until the job has ended, and how it has. */
export async function streamJob(invocation: Invocation, target: Target, jobId: string): Promise<JobView> {
  const { io, print } = invocation;
  const signal = io.interrupted;
  const work = streamLogs(createApiClient(target.api, signal), jobId, {
    signal,
    onTuning: createTrialPrinter(invocation),
    onEntry: (entry) => print({ json: entry, text: formatLogEntry(entry, io.stdout) }),
  });
  const job = await reportInterruption(jobId, { signal, work });
  const title = `Job ${job.jobId} ended: ${paintState(job.state, io.stderr)}.`;
  io.stderr.write(`${describeEnd(title, job, io.stderr)}\n`);
  return job;
}

/** Prints what is searched, and then a line for each trial. */
function createTrialPrinter({ io, print }: Invocation): (job: JobView, ended: readonly TrialView[]) => void {
  let best: BestSoFar | undefined;
  let isFirst = true;
  return (job, ended) => {
    if (!isTuningJob(job)) {
      return;
    }
    const { tuning, jobId } = job;
    if (isFirst) {
      isFirst = false;
      const lines = [
        `Job ${jobId} runs ${tuning.trialsMax} trials, ${tuning.parallelTrialsMax} at a time: it ${describeSearch(tuning)}.`,
        `Each trial has a log of its own: ${programName()} jobs stream-logs ${jobId} --trial N`,
      ];
      io.stderr.write(`${lines.join('\n')}\n`);
    }
    for (const trial of ended) {
      best = betterOf(best, trial, tuning);
      print({ json: trial, text: formatEndedTrial(trial, { tuning, best, output: io.stdout }) });
    }
  };
}
