import { basename, join } from 'node:path';
import { createAdminClient } from '#cli/client/admin-client.ts';
import { createApiClient } from '#cli/client/api-client.ts';
import { findDataDir, refuseDeployment } from '#cli/client/find-cloud.ts';
import { targetOf } from '#cli/client/find-target.ts';
import { followJob } from '#cli/client/follow-job.ts';
import { openFunctionsLog } from '#cli/client/functions-log.ts';
import { formatGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient } from '#cli/client/object-client.ts';
import { dropExample, fetchResults, nameDemoJob } from '#cli/commands/demo/demo-job.ts';
import { createDemoScreen, type DemoScreen } from '#cli/commands/demo/demo-screen.ts';
import { measureStages, type Sighting, stageOf } from '#cli/commands/demo/demo-stages.ts';
import { describeDemo } from '#cli/commands/demo/describe-demo.ts';
import type { Command, ExitCode, Invocation } from '#cli/core/command.ts';
import { describeError } from '#cli/core/failure.ts';
import { describeReport } from '#cli/render/describe-report.ts';
import { shortenPath } from '#cli/render/format.ts';
import { waitForVerdict } from '#cli/submit/upload-job.ts';
import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';

/** How long an interrupted demo waits until its job is cancelled and the VM gone. */
const CLEAN_UP_MS_MAX = 30_000;

/** Warnings and errors of the cloud are shown only when the demo fails, and no more than the last of them. */
const TROUBLES_COUNT_MAX = 50;

type Stage = { readonly screen: DemoScreen; readonly dataDir: string; readonly endpoints: Endpoints };

export const demo: Command = {
  operands: [],
  flags: [],
  notes: 'Its cloud lies in .dropforge/demo, where the model stays. Nothing is left running at the end.',
  async run(invocation) {
    const { io } = invocation;
    refuseDeployment(invocation);
    const dataDir = await findDemoDir(invocation);
    const screen = createDemoScreen(invocation);
    const troubles: string[] = [];
    const log = openFunctionsLog(dataDir, { onTrouble: (line) => troubles.push(line) });
    screen.say(
      { event: 'starting', dataDir, log: log.path },
      `starting the embedded cloud in ${shortenPath(io.cwd, dataDir)}, which logs into ${basename(log.path)} there`,
    );
    const cloud = await io.startCloud({ dataDir, writeLog: log.write });
    let exitCode: ExitCode = 1;
    try {
      exitCode = await trainExample(invocation, { screen, dataDir, endpoints: cloud.endpoints });
    } finally {
      screen.close();
      await cloud.stop();
      if (exitCode !== 0 && !io.interrupted.aborted) {
        const lines = [...troubles.slice(-TROUBLES_COUNT_MAX), `All that the cloud has logged is in ${log.path}.`];
        io.stderr.write(`${lines.join('\n')}\n`);
      }
    }
    return exitCode;
  },
};

async function findDemoDir(invocation: Invocation): Promise<string> {
  const found = await findDataDir(invocation);
  return invocation.dataDir === undefined ? join(found, 'demo') : found;
}

async function trainExample(invocation: Invocation, { screen, dataDir, endpoints }: Stage): Promise<ExitCode> {
  const { io, print } = invocation;
  const signal = io.interrupted;
  const target = targetOf(endpoints);
  const objects = createObjectClient(target);
  const api = createApiClient(target.api, signal);
  const jobId = nameDemoJob(new Date());
  try {
    const source = await dropExample(objects, { bucket: endpoints.uploadBucket, jobId });
    screen.say({ event: 'dropped', uri: formatGsUri(source) }, `dropped examples/digits into ${formatGsUri(source)}`);
    const report = await waitForVerdict(objects, source, signal);
    if (report.verdict !== 'ACCEPTED') {
      print({ json: report, text: describeReport(report, io.stdout) });
      return 1;
    }
    const sightings: Sighting[] = [];
    const onJob: NonNullable<Parameters<typeof followJob>[2]['onJob']> = (job) => {
      sightings.push({ stage: stageOf(job), at: Date.now() });
      screen.show(job);
    };
    const job = await followJob(api, jobId, { signal, onJob });
    const results = await fetchResults({ objects, api, signal }, job, join(dataDir, 'results'));
    const { vms } = await createAdminClient(endpoints.admin, signal).readStatus();
    const outcome = { job, results, vms, stages: measureStages(sightings) };
    const json = { event: 'ended', ...outcome, stages: Object.fromEntries(outcome.stages) };
    print({ json, text: describeDemo(outcome, { dataDir, cwd: io.cwd, output: io.stdout }) });
    return job.state === 'SUCCEEDED' && vms.length === 0 ? 0 : 1;
  } catch (error) {
    if (signal.aborted) {
      await cancelInterrupted({ io, endpoints, jobId });
    }
    throw error;
  }
}

/** Ctrl-C must not leave a job behind that would go on at the next start. */
async function cancelInterrupted({
  io,
  endpoints,
  jobId,
}: Pick<Invocation, 'io'> & { endpoints: Endpoints; jobId: string }) {
  io.stderr.write(`Cancelling ${jobId} and waiting for its VM to go.\n`);
  const signal = AbortSignal.timeout(CLEAN_UP_MS_MAX);
  const api = createApiClient(targetOf(endpoints).api, signal);
  try {
    await api.cancelJob(jobId);
    await followJob(api, jobId, { signal });
  } catch (error) {
    // The interruption itself is what is reported; this only says how far the cleaning got.
    io.stderr.write(`${jobId} may not be cancelled (${describeError(error)}).\n`);
  }
}
