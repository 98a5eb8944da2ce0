import type { CloudStatus } from '#cli/client/admin-client.ts';
import { EXAMPLE_DIR, type Results } from '#cli/commands/demo/demo-job.ts';
import type { Stage } from '#cli/commands/demo/demo-stages.ts';
import type { Output } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';
import { describeCause, describePrice, describeProgress } from '#cli/render/describe-job.ts';
import { formatDuration, shortenPath } from '#cli/render/format.ts';
import { paintState } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/report.ts';

type Outcome = {
  readonly job: JobView;
  readonly results: Results;
  readonly vms: CloudStatus['vms'];
  readonly stages: ReadonlyMap<Stage, number>;
};

type Setting = { readonly dataDir: string; readonly cwd: string; readonly output: Output };

/** What the demo has shown: the model and where it is, the time and the price, and that nothing is left. */
export function describeDemo(outcome: Outcome, setting: Setting): string {
  const { job, results, vms, stages } = outcome;
  const { cwd, output } = setting;
  const [master] = job.replicas;
  const times = [...stages].map(([stage, durationMs]) => `${stage} ${formatDuration(durationMs)}`);
  const left = vms.map(({ vmName, status }) => `${vmName} (${status})`);
  const facts: readonly (readonly [string, string])[] = [
    ['result', master === undefined ? '' : describeProgress(master)],
    ['model', results.modelFile === null ? '' : shortenPath(cwd, results.modelFile)],
    ['log', shortenPath(cwd, results.logFile)],
    ['bucket', `${job.jobDir}/`],
    ['time', times.join(', ')],
    ['price', describePrice(job.price)],
    ['left over', left.length === 0 ? 'nothing: no VM runs' : `${left.join(', ')}: this should not be`],
  ];
  return [
    '',
    `${job.jobId}  ${paintState(job.state, output)}`,
    ...describeCause(job),
    ...facts.filter(([, value]) => value !== '').map(([name, value]) => `  ${name.padEnd(10)}${value}`),
    '',
    ...describeNextSteps(outcome, setting),
  ].join('\n');
}

function describeNextSteps({ job, results }: Outcome, { cwd, dataDir }: Setting): readonly string[] {
  const cli = `${programName()} --data-dir ${shortenPath(cwd, dataDir)}`;
  const predict = `(cd ${shortenPath(cwd, EXAMPLE_DIR)} && python3 -m trainer.predict ${results.modelFile} --sample 3)`;
  return [
    ...(results.modelFile === null ? [] : ['Read some digits with the model:', `  ${predict}`]),
    'Start the same cloud again, and look around from another terminal:',
    `  ${cli} up`,
    `  ${cli} jobs describe ${job.jobId}`,
    `  ${cli} cat ${job.jobDir}/metrics.json`,
    `  ${cli} cp -r ${job.jobDir} .`,
  ];
}
