import type { CloudStatus } from '#cli/client/admin-client.ts';
import { EXAMPLE_DIR, type Results } from '#cli/commands/demo/demo-job.ts';
import type { Stage } from '#cli/commands/demo/demo-stages.ts';
import type { Output } from '#cli/core/command.ts';
import { bareProgramName } from '#cli/core/program-name.ts';
import { describeCause } from '#cli/render/describe-job.ts';
import { describeWarnings } from '#cli/render/describe-report.ts';
import { formatFacts, shortenPath } from '#cli/render/format.ts';
import { paintState } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatDuration } from '#shared/text/format-time.ts';
import { describeProgress } from '#shared/views/describe/describe-replica.ts';
import { JOB_FACTS } from '#shared/views/describe/job-facts.ts';

type Outcome = {
  readonly job: JobView;
  readonly results: Results;
  readonly vms: CloudStatus['vms'];
  readonly stages: ReadonlyMap<Stage, number>;
};

export type SummaryOptions = { readonly dataDir: string; readonly cwd: string; readonly output: Output };

/** Formats the result of the demo: model, log, times, cost, remaining VMs, and commands to try next. */
export function summarizeDemo({ job, results, vms, stages }: Outcome, options: SummaryOptions): string {
  const { cwd, output } = options;
  const [master] = job.replicas;
  const times = [...stages].map(([stage, durationMs]) => `${stage} ${formatDuration(durationMs)}`);
  const facts = formatFacts([
    ['result', master === undefined ? '' : describeProgress(master)],
    ['model', results.modelFile && shortenPath(cwd, results.modelFile)],
    ['log', shortenPath(cwd, results.logFile)],
    ['bucket', `${job.jobDir}/`],
    ['time', times.join(', ')],
    ['cost', JOB_FACTS.cost.cell(job)],
    ['VMs', describeRemaining(vms)],
  ]);
  const commands = [`jobs describe ${job.jobId}`, `cat ${job.jobDir}/metrics.json`, `cp -r ${job.jobDir} outputs/`];
  return [
    '',
    `${job.jobId}  ${paintState(job.state, output)}`,
    ...describeCause(job),
    ...describeWarnings(job.warnings, output),
    ...facts,
    '',
    ...describeNextSteps({ modelFile: results.modelFile, model: 'model', subject: 'job', commands }, options),
  ].join('\n');
}

/** The VMs that a demo has left running. */
export function describeRemaining(vms: CloudStatus['vms']): string {
  const remaining = vms.map(({ vmName, status }) => `${vmName} (${status})`).join(', ');
  return remaining === '' ? 'none running' : `${remaining} (unexpected: all VMs should be deleted)`;
}

type NextSteps = {
  readonly modelFile: string | null;
  /** The names of the model, and of the subject of the commands. */
  readonly model: string;
  readonly subject: string;
  readonly commands: readonly string[];
};

/** The next steps after a demo: the model, and commands of the cloud that it has stopped. */
export function describeNextSteps(
  { modelFile, model, subject, commands }: NextSteps,
  { cwd, dataDir }: SummaryOptions,
): readonly string[] {
  const cli = `${bareProgramName()} --data-dir ${shortenPath(cwd, dataDir)}`;
  const predict = `(cd ${shortenPath(cwd, EXAMPLE_DIR)} && python3 -B -m trainer.predict ${modelFile} --sample 3)`;
  return [
    ...(modelFile === null ? [] : [`To classify some digits with the ${model}, run:`, `  ${predict}`]),
    `To explore the ${subject}, start the cloud again:`,
    `  ${cli} up`,
    'and in another terminal, run for example:',
    ...commands.map((command) => `  ${cli} ${command}`),
  ];
}
