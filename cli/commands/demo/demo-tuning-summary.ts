import type { CloudStatus } from '#cli/client/admin-client.ts';
import { EXAMPLE_DIR } from '#cli/commands/demo/demo-job.ts';
import type { Output } from '#cli/core/command.ts';
import { bareProgramName } from '#cli/core/program-name.ts';
import { describeCause, formatFacts } from '#cli/render/describe-job.ts';
import { describeProgress, type TuningJob } from '#cli/render/describe-tuning.ts';
import { shortenPath } from '#cli/render/format.ts';
import { paintState } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatParameters } from '#shared/text/format-number.ts';
import { formatDuration } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

/** The model of one training, with its accuracy on digits that have chosen no setting. */
export type MeasuredModel = { readonly modelFile: string | null; readonly testAccuracy: number | null };

type Outcome = {
  readonly plain: JobView;
  readonly search: TuningJob;
  readonly models: { readonly plain: MeasuredModel; readonly best: MeasuredModel | null };
  readonly vms: CloudStatus['vms'];
};

type SummaryOptions = { readonly dataDir: string; readonly cwd: string; readonly output: Output };

/** Formats the result of the search: its best values, both models on the test digits, the price, and what to try next. */
export function summarizeTuning(outcome: Outcome, options: SummaryOptions): string {
  const { plain, search, models, vms } = outcome;
  const { cwd, output } = options;
  const { best } = search.tuning;
  const remaining = vms.map(({ vmName, status }) => `${vmName} (${status})`);
  const facts = formatFacts([
    ['progress', describeProgress(search.tuning)],
    ['best', best && `trial ${best.trialId}: ${formatParameters(best.parameters)}`],
    ['test', describeTest(models)],
    ['model', models.best?.modelFile ? shortenPath(cwd, models.best.modelFile) : null],
    ['time', search.endTime && formatDuration(Date.parse(search.endTime) - Date.parse(search.createTime))],
    ['price', search.price.totalUsd === null ? null : `${formatUsd(search.price.totalUsd)} on Google Cloud`],
    [
      'VMs',
      remaining.length === 0 ? 'none running' : `${remaining.join(', ')} (unexpected: all VMs should be deleted)`,
    ],
  ]);
  return [
    '',
    ...(plain.state === 'SUCCEEDED'
      ? []
      : [`${plain.jobId}  ${paintState(plain.state, output)}`, ...describeCause(plain)]),
    `${search.jobId}  ${paintState(search.state, output)}`,
    ...describeCause(search),
    ...facts,
    '',
    ...describeNextSteps(outcome, options),
  ].join('\n');
}

/** Both models on the same digits, which neither was trained on and which have chosen no setting. */
function describeTest({ plain, best }: Outcome['models']): string | null {
  if (plain.testAccuracy === null || best === null || best.testAccuracy === null) {
    return null;
  }
  const percentOf = (fraction: number) => `${(fraction * 100).toFixed(1)} %`;
  const difference = (best.testAccuracy - plain.testAccuracy) * 100;
  const verdict =
    difference > 0
      ? `${difference.toFixed(1)} points better`
      : 'not better: the search saw other digits, and this test is small';
  return `${percentOf(best.testAccuracy)} of unseen digits recognized; ${percentOf(plain.testAccuracy)} with the default settings (${verdict})`;
}

function describeNextSteps({ search, models }: Outcome, { cwd, dataDir }: SummaryOptions): readonly string[] {
  const cli = `${bareProgramName()} --data-dir ${shortenPath(cwd, dataDir)}`;
  const { modelFile = null } = models.best ?? {};
  const predict = `(cd ${shortenPath(cwd, EXAMPLE_DIR)} && python3 -m trainer.predict ${modelFile} --sample 3)`;
  return [
    ...(modelFile === null ? [] : ['To classify some digits with the best model, run:', `  ${predict}`]),
    'To explore the trials, start the cloud again:',
    `  ${cli} up`,
    'and in another terminal, run for example:',
    `  ${cli} jobs describe ${search.jobId}`,
    `  ${cli} trials ${search.jobId} --sort-by learning-rate`,
    `  ${cli} trials ${search.jobId} --export trials.csv`,
  ];
}
