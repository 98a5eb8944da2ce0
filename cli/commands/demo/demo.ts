import { basename, join } from 'node:path';
import { findDataDir } from '#cli/client/find-cloud.ts';
import { followJob } from '#cli/client/follow-job.ts';
import { openFunctionsLog } from '#cli/client/functions-log.ts';
import { cancelInterrupted, type Demo, isAccepted, openDemo, readVms } from '#cli/commands/demo/demo-cloud.ts';
import { createDemoJobId, downloadResults, uploadExample } from '#cli/commands/demo/demo-job.ts';
import { createDemoProgress } from '#cli/commands/demo/demo-progress.ts';
import { measureStages, type StageSample, stageOf } from '#cli/commands/demo/demo-stages.ts';
import { summarizeDemo } from '#cli/commands/demo/demo-summary.ts';
import { tuneExample } from '#cli/commands/demo/demo-tuning.ts';
import type { Command, ExitCode, Invocation } from '#cli/core/command.ts';
import { shortenPath } from '#cli/render/format.ts';
import type { JobView } from '#shared/protocol/job-view.ts';

/** If the demo fails, the last warnings and errors of the cloud are printed. */
const PROBLEMS_SHOWN_MAX = 50;

export const demo: Command = {
  operands: [],
  flags: [{ name: 'tuning', summary: 'tune the example: search better settings than its defaults' }],
  notes: 'Runs an embedded cloud in .dropforge/demo, where the model is kept. Nothing is left running.',
  async run(invocation) {
    const { io } = invocation;
    const dataDir = await findDemoDir(invocation);
    const progress = createDemoProgress(invocation);
    const problems: string[] = [];
    const log = openFunctionsLog(dataDir, { onProblem: (line) => problems.push(line) });
    progress.print(
      { event: 'starting', dataDir, log: log.path },
      `starting the embedded cloud in ${shortenPath(io.cwd, dataDir)} (log: ${basename(log.path)})`,
    );
    const cloud = await io.startCloud({ dataDir, writeLog: log.write });
    const started = openDemo({ invocation, progress, dataDir, endpoints: cloud.endpoints });
    const [work, ...names] = invocation.isSet('tuning')
      ? ([tuneExample, 'digits_default', 'digits_search'] as const)
      : ([trainExample, 'digits'] as const);
    const now = new Date();
    const jobIds = names.map((name) => createDemoJobId(now, name));
    let exitCode: ExitCode = 1;
    try {
      exitCode = await work(started, jobIds);
    } catch (error) {
      if (io.interrupted.aborted) {
        await cancelInterrupted(started, jobIds);
      }
      throw error;
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

async function trainExample(demo: Demo, [jobId = '']: readonly string[]): Promise<ExitCode> {
  const { invocation, progress, dataDir, endpoints, objects, api, signal } = demo;
  const { io, print } = invocation;
  if (!(await isAccepted(demo, await uploadExample(objects, { bucket: endpoints.uploadBucket, jobId })))) {
    return 1;
  }
  const samples: StageSample[] = [];
  const onJob = (job: JobView) => {
    samples.push({ stage: stageOf(job), at: Date.now() });
    progress.show(job);
  };
  const job = await followJob(api, jobId, { signal, onJob });
  const results = await downloadResults({ objects, api, signal }, job, join(dataDir, 'results'));
  const vms = await readVms(demo);
  const outcome = { job, results, vms, stages: measureStages(samples) };
  const json = { event: 'ended', ...outcome, stages: Object.fromEntries(outcome.stages) };
  print({ json, text: summarizeDemo(outcome, { dataDir, cwd: io.cwd, output: io.stdout }) });
  return job.state === 'SUCCEEDED' && vms.length === 0 ? 0 : 1;
}
