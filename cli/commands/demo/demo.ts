import { basename, join } from 'node:path';
import { createAdminClient } from '#cli/client/admin-client.ts';
import { createApiClient } from '#cli/client/api-client.ts';
import { findDataDir, rejectDeployment } from '#cli/client/find-cloud.ts';
import { targetOf } from '#cli/client/find-target.ts';
import { followJob } from '#cli/client/follow-job.ts';
import { openFunctionsLog } from '#cli/client/functions-log.ts';
import { createObjectClient } from '#cli/client/object-client.ts';
import { cancelInterrupted, type DemoCloud } from '#cli/commands/demo/demo-cloud.ts';
import { createDemoJobId, downloadResults, uploadExample } from '#cli/commands/demo/demo-job.ts';
import { createDemoProgress } from '#cli/commands/demo/demo-progress.ts';
import { measureStages, type StageSample, stageOf } from '#cli/commands/demo/demo-stages.ts';
import { summarizeDemo } from '#cli/commands/demo/demo-summary.ts';
import { tuneExample } from '#cli/commands/demo/demo-tuning.ts';
import type { Command, ExitCode, Invocation } from '#cli/core/command.ts';
import { describeReport } from '#cli/render/describe-report.ts';
import { shortenPath } from '#cli/render/format.ts';
import { waitForVerdict } from '#cli/submit/upload-job.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';

/** If the demo fails, the last warnings and errors of the cloud are printed. */
const PROBLEMS_SHOWN_MAX = 50;

export const demo: Command = {
  operands: [],
  flags: [{ name: 'tuning', summary: 'tune the example: search better settings than its defaults' }],
  notes: 'Runs an embedded cloud in .dropforge/demo, where the model is kept. Nothing is left running.',
  async run(invocation) {
    const { io } = invocation;
    rejectDeployment(invocation);
    const dataDir = await findDemoDir(invocation);
    const progress = createDemoProgress(invocation);
    const problems: string[] = [];
    const log = openFunctionsLog(dataDir, { onProblem: (line) => problems.push(line) });
    progress.print(
      { event: 'starting', dataDir, log: log.path },
      `starting the embedded cloud in ${shortenPath(io.cwd, dataDir)} (log: ${basename(log.path)})`,
    );
    const cloud = await io.startCloud({ dataDir, writeLog: log.write });
    let exitCode: ExitCode = 1;
    try {
      const work = invocation.isSet('tuning') ? tuneExample : trainExample;
      exitCode = await work(invocation, { progress, dataDir, endpoints: cloud.endpoints });
    } finally {
      await cloud.stop();
      if (exitCode !== 0 && !io.interrupted.aborted) {
        const lines = [...problems.slice(-PROBLEMS_SHOWN_MAX), `For the complete log of the cloud, see ${log.path}.`];
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

async function trainExample(invocation: Invocation, { progress, dataDir, endpoints }: DemoCloud): Promise<ExitCode> {
  const { io, print } = invocation;
  const signal = io.interrupted;
  const target = targetOf(endpoints);
  const objects = createObjectClient(target);
  const api = createApiClient(target.api, signal);
  const jobId = createDemoJobId(new Date());
  try {
    const source = await uploadExample(objects, { bucket: endpoints.uploadBucket, jobId });
    progress.print({ event: 'dropped', uri: toGsUri(source) }, `uploaded examples/digits to ${toGsUri(source)}`);
    const report = await waitForVerdict(objects, source, { signal });
    if (report.verdict !== 'ACCEPTED') {
      print({ json: report, text: describeReport(report, io.stdout) });
      return 1;
    }
    const samples: StageSample[] = [];
    const onJob: NonNullable<Parameters<typeof followJob>[2]['onJob']> = (job) => {
      samples.push({ stage: stageOf(job), at: Date.now() });
      progress.show(job);
    };
    const job = await followJob(api, jobId, { signal, onJob });
    const results = await downloadResults({ objects, api, signal }, job, join(dataDir, 'results'));
    const { vms } = await createAdminClient(endpoints.admin, signal).readStatus();
    const outcome = { job, results, vms, stages: measureStages(samples) };
    const json = { event: 'ended', ...outcome, stages: Object.fromEntries(outcome.stages) };
    print({ json, text: summarizeDemo(outcome, { dataDir, cwd: io.cwd, output: io.stdout }) });
    return job.state === 'SUCCEEDED' && vms.length === 0 ? 0 : 1;
  } catch (error) {
    if (signal.aborted) {
      await cancelInterrupted({ io, endpoints, jobIds: [jobId] });
    }
    throw error;
  }
}
