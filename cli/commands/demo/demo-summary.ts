import type { CloudStatus } from '#cli/client/admin-client.ts';
import { EXAMPLE_DIR, type Results } from '#cli/commands/demo/demo-job.ts';
import type { Stage } from '#cli/commands/demo/demo-stages.ts';
import type { Output } from '#cli/core/command.ts';
import { bareProgramName } from '#cli/core/program-name.ts';
import { describeCause, describePrice, describeProgress } from '#cli/render/describe-job.ts';
import { describeWarnings } from '#cli/render/describe-report.ts';
import { shortenPath } from '#cli/render/format.ts';
import { paintState } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatDuration } from '#shared/text/format-time.ts';

type Outcome = {
  readonly job: JobView;
  readonly results: Results;
  readonly vms: CloudStatus['vms'];
  readonly stages: ReadonlyMap<Stage, number>;
};

type SummaryOptions = { readonly dataDir: string; readonly cwd: string; readonly output: Output };

/** Formats the result of the demo: model, log, times, price, remaining VMs, and commands to try next. */
export function summarizeDemo(outcome: Outcome, options: SummaryOptions): string {
  const { job, results, vms, stages } = outcome;
  const { cwd, output } = options;
  const [master] = job.replicas;
  const times = [...stages].map(([stage, durationMs]) => `${stage} ${formatDuration(durationMs)}`);
  const remaining = vms.map(({ vmName, status }) => `${vmName} (${status})`);
  const facts: readonly (readonly [string, string])[] = [
    ['result', master === undefined ? '' : describeProgress(master)],
    ['model', results.modelFile === null ? '' : shortenPath(cwd, results.modelFile)],
    ['log', shortenPath(cwd, results.logFile)],
    ['bucket', `${job.jobDir}/`],
    ['time', times.join(', ')],
    ['price', describePrice(job.price)],
    [
      'VMs',
      remaining.length === 0 ? 'none running' : `${remaining.join(', ')} (unexpected: all VMs should be deleted)`,
    ],
  ];
  return [
    '',
    `${job.jobId}  ${paintState(job.state, output)}`,
    ...describeCause(job),
    ...describeWarnings(job.warnings, output),
    ...facts.filter(([, value]) => value !== '').map(([name, value]) => `  ${name.padEnd(10)}${value}`),
    '',
    ...describeNextSteps(outcome, options),
  ].join('\n');
}

function describeNextSteps({ job, results }: Outcome, { cwd, dataDir }: SummaryOptions): readonly string[] {
  const cli = `${bareProgramName()} --data-dir ${shortenPath(cwd, dataDir)}`;
  const predict = `(cd ${shortenPath(cwd, EXAMPLE_DIR)} && python3 -m trainer.predict ${results.modelFile} --sample 3)`;
  return [
    ...(results.modelFile === null ? [] : ['To classify some digits with the model, run:', `  ${predict}`]),
    'To explore the job, start the cloud again:',
    `  ${cli} up`,
    'and in another terminal, run for example:',
    `  ${cli} jobs describe ${job.jobId}`,
    `  ${cli} cat ${job.jobDir}/metrics.json`,
    `  ${cli} cp -r ${job.jobDir} .`,
  ];
}
