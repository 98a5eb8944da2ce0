import { join } from 'node:path';
import * as z from 'zod';
import { planCopies, runCopy } from '#cli/client/copy-objects.ts';
import { followJob, streamLogs } from '#cli/client/follow-job.ts';
import { readGsUri } from '#cli/client/gs-uri.ts';
import type { ObjectClient } from '#cli/client/object-client.ts';
import { type Demo, isAccepted, readVms } from '#cli/commands/demo/demo-cloud.ts';
import { uploadTuningExample } from '#cli/commands/demo/demo-job.ts';
import { type MeasuredModel, summarizeTuning } from '#cli/commands/demo/demo-tuning-summary.ts';
import type { ExitCode } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';
import { isTuningJob, type TuningJob } from '#cli/render/describe-tuning.ts';
import { paintState } from '#cli/render/paint.ts';
import { followTrials } from '#cli/submit/stream-job.ts';
import type { JobView } from '#shared/protocol/job-view.ts';

/**
 * Trains examples/digits with its default settings and tunes it, at the same time, and compares the two models on the
 * test digits.
 */
export async function tuneExample(demo: Demo, [defaultId = '', searchId = '']: readonly string[]): Promise<ExitCode> {
  const { invocation, dataDir, endpoints, objects } = demo;
  const { io, print } = invocation;
  for (const jobId of [defaultId, searchId]) {
    const target = { bucket: endpoints.uploadBucket, jobId, isTuned: jobId === searchId };
    if (!(await isAccepted(demo, await uploadTuningExample(objects, target)))) {
      return 1;
    }
  }
  const [plain, search] = await Promise.all([followDefault(demo, defaultId), followSearch(demo, searchId)]);
  const best = search.tuning.best;
  const resultsDir = join(dataDir, 'results', searchId);
  const models = {
    plain: await fetchModel(objects, plain.jobDir, join(resultsDir, 'default')),
    best: best && (await fetchModel(objects, `${search.jobDir}/${best.trialId}`, join(resultsDir, 'best'))),
  };
  const vms = await readVms(demo);
  const outcome = { plain, search, models, vms };
  const text = summarizeTuning(outcome, { dataDir, cwd: io.cwd, output: io.stdout });
  print({ json: { event: 'ended', ...outcome }, text });
  return plain.state === 'SUCCEEDED' && search.state === 'SUCCEEDED' && vms.length === 0 ? 0 : 1;
}

async function followDefault({ invocation, api, signal, progress }: Demo, jobId: string): Promise<JobView> {
  const job = await followJob(api, jobId, { signal });
  const { state, replicas } = job;
  const accuracy = replicas[0]?.metrics.accuracy;
  const { stdout } = invocation.io;
  const result = typeof accuracy === 'number' ? `accuracy ${accuracy.toFixed(4)}` : paintState(state, stdout);
  progress.print({ event: 'default', state, accuracy }, `default   ${result}`);
  return job;
}

async function followSearch({ invocation, api, signal, progress }: Demo, jobId: string): Promise<TuningJob> {
  const onTuning = followTrials(invocation.io.stdout, {
    onStart: (text, _, trialsMax) => progress.print({ event: 'search', trialsMax }, text),
    onTrial: (trial, text) => progress.print({ event: 'trial', ...trial }, text),
  });
  const job = await streamLogs(api, jobId, { signal, onEntry: () => {}, onTuning });
  if (!isTuningJob(job)) {
    throw new Failure(`Job ${jobId} is not a tuning job: check examples/digits/tune.yaml.`);
  }
  return job;
}

const metricsSchema = z.object({ test_accuracy: z.number() });

/** Downloads the model of a training, and reads the accuracy that it has measured at its end; nulls if it has failed. */
async function fetchModel(objects: ObjectClient, jobDir: string, directory: string): Promise<MeasuredModel> {
  const text = await objects.readText(readGsUri(`${jobDir}/metrics.json`));
  if (text === undefined) {
    return { modelFile: null, testAccuracy: null };
  }
  const sources = [`${jobDir}/model.json`];
  const copies = await planCopies(objects, { sources, target: `${directory}/`, isRecursive: false });
  for (const copy of copies) {
    await runCopy(objects, copy);
  }
  return {
    modelFile: copies[0]?.to ?? null,
    testAccuracy: metricsSchema.safeParse(JSON.parse(text)).data?.test_accuracy ?? null,
  };
}
