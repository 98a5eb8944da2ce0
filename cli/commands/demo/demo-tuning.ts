import { join } from 'node:path';
import * as z from 'zod';
import { createAdminClient } from '#cli/client/admin-client.ts';
import { type ApiClient, createApiClient } from '#cli/client/api-client.ts';
import { planCopies, runCopy } from '#cli/client/copy-objects.ts';
import { targetOf } from '#cli/client/find-target.ts';
import { followJob, streamLogs } from '#cli/client/follow-job.ts';
import { readGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient, type ObjectClient } from '#cli/client/object-client.ts';
import { cancelInterrupted, type DemoCloud } from '#cli/commands/demo/demo-cloud.ts';
import { createDemoJobId, uploadTuningExample } from '#cli/commands/demo/demo-job.ts';
import { type MeasuredModel, summarizeTuning } from '#cli/commands/demo/demo-tuning-summary.ts';
import type { ExitCode, Invocation } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';
import { describeReport } from '#cli/render/describe-report.ts';
import { type BestSoFar, betterOf, formatEndedTrial } from '#cli/render/describe-trial.ts';
import { isTuningJob, type TuningJob } from '#cli/render/describe-tuning.ts';
import { paintState } from '#cli/render/paint.ts';
import { waitForVerdict } from '#cli/submit/upload-job.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { describeSearch } from '#shared/views/describe/describe-tuning.ts';

type Clients = { readonly objects: ObjectClient; readonly api: ApiClient; readonly signal: AbortSignal };

/**
 * Trains examples/digits with its default settings and tunes it, at the same time, and compares the two models on the
 * test digits.
 */
export async function tuneExample(invocation: Invocation, cloud: DemoCloud): Promise<ExitCode> {
  const { io, print } = invocation;
  const { progress, dataDir, endpoints } = cloud;
  const target = targetOf(endpoints);
  const signal = io.interrupted;
  const clients = { objects: createObjectClient(target), api: createApiClient(target.api, signal), signal };
  const now = new Date();
  const [defaultId, searchId] = [createDemoJobId(now, 'digits_default'), createDemoJobId(now, 'digits_search')];
  try {
    const bucket = endpoints.uploadBucket;
    for (const target of [
      { bucket, jobId: defaultId, isTuned: false },
      { bucket, jobId: searchId, isTuned: true },
    ]) {
      const source = await uploadTuningExample(clients.objects, target);
      progress.print({ event: 'dropped', uri: toGsUri(source) }, `uploaded examples/digits to ${toGsUri(source)}`);
      const report = await waitForVerdict(clients.objects, source, { signal });
      if (report.verdict !== 'ACCEPTED') {
        print({ json: report, text: describeReport(report, io.stdout) });
        return 1;
      }
    }
    const [plain, search] = await Promise.all([
      followDefault(clients, cloud, { jobId: defaultId, output: io.stdout }),
      followSearch(invocation, clients, { cloud, jobId: searchId }),
    ]);
    const best = search.tuning.best;
    const resultsDir = join(dataDir, 'results', searchId);
    const models = {
      plain: await fetchModel(clients.objects, plain.jobDir, join(resultsDir, 'default')),
      best: best && (await fetchModel(clients.objects, `${search.jobDir}/${best.trialId}`, join(resultsDir, 'best'))),
    };
    const { vms } = await createAdminClient(endpoints.admin, signal).readStatus();
    const outcome = { plain, search, models, vms };
    const text = summarizeTuning(outcome, { dataDir, cwd: io.cwd, output: io.stdout });
    print({ json: { event: 'ended', ...outcome }, text });
    return plain.state === 'SUCCEEDED' && search.state === 'SUCCEEDED' && vms.length === 0 ? 0 : 1;
  } catch (error) {
    if (signal.aborted) {
      await cancelInterrupted({ io, endpoints, jobIds: [defaultId, searchId] });
    }
    throw error;
  }
}

async function followDefault(
  { api, signal }: Clients,
  { progress }: DemoCloud,
  { jobId, output }: { readonly jobId: string; readonly output: { readonly hasColors: boolean } },
): Promise<JobView> {
  const job = await followJob(api, jobId, { signal });
  const { state, replicas } = job;
  const accuracy = replicas[0]?.metrics.accuracy;
  const result = typeof accuracy === 'number' ? `accuracy ${accuracy.toFixed(4)}` : paintState(state, output);
  progress.print({ event: 'default', state, accuracy }, `default   ${result}`);
  return job;
}

async function followSearch(
  { io }: Invocation,
  { api, signal }: Clients,
  { cloud, jobId }: { readonly cloud: DemoCloud; readonly jobId: string },
): Promise<TuningJob> {
  let best: BestSoFar | undefined;
  let isFirst = true;
  const job = await streamLogs(api, jobId, {
    signal,
    onEntry: () => {},
    onTuning: (polled, ended) => {
      if (!isTuningJob(polled)) {
        return;
      }
      const { tuning } = polled;
      if (isFirst) {
        isFirst = false;
        const text = `${jobId} runs ${tuning.trialsMax} trials, ${tuning.parallelTrialsMax} at a time: it ${describeSearch(tuning)}`;
        cloud.progress.print({ event: 'search', trialsMax: tuning.trialsMax }, text);
      }
      for (const trial of ended) {
        best = betterOf(best, trial, tuning);
        cloud.progress.print(
          { event: 'trial', ...trial },
          formatEndedTrial(trial, { tuning, best, output: io.stdout }),
        );
      }
    },
  });
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
