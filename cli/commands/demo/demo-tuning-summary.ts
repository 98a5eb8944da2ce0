import type { CloudStatus } from '#cli/client/admin-client.ts';
import { describeNextSteps, describeRemaining, type SummaryOptions } from '#cli/commands/demo/demo-summary.ts';
import { describeCause } from '#cli/render/describe-job.ts';
import type { TuningJob } from '#cli/render/describe-tuning.ts';
import { formatFacts, shortenPath } from '#cli/render/format.ts';
import { paintState } from '#cli/render/paint.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatParameters } from '#shared/text/format-number.ts';
import { formatSpan } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';
import { describeTrialCounts } from '#shared/views/describe/describe-tuning.ts';

/** The model of one training, with its accuracy on digits that have chosen no setting. */
export type MeasuredModel = { readonly modelFile: string | null; readonly testAccuracy: number | null };

type Outcome = {
  readonly plain: JobView;
  readonly search: TuningJob;
  readonly models: { readonly plain: MeasuredModel; readonly best: MeasuredModel | null };
  readonly vms: CloudStatus['vms'];
};

/** Formats the result of the search: its best values, both models on the test digits, the price, and what to try next. */
export function summarizeTuning({ plain, search, models, vms }: Outcome, options: SummaryOptions): string {
  const { cwd, output } = options;
  const { best } = search.tuning;
  const modelFile = models.best?.modelFile ?? null;
  const facts = formatFacts([
    ['progress', describeTrialCounts(search.tuning)],
    ['best', best && `trial ${best.trialId}: ${formatParameters(best.parameters)}`],
    ['test', describeTest(models)],
    ['model', modelFile && shortenPath(cwd, modelFile)],
    ['time', search.endTime && formatSpan({ startTime: search.createTime, endTime: search.endTime }, Date.now())],
    ['cost', search.price.totalUsd === null ? null : `${formatUsd(search.price.totalUsd)} on Google Cloud`],
    ['VMs', describeRemaining(vms)],
  ]);
  const commands = ['jobs describe ID', 'trials ID --sort-by learning-rate', 'trials ID --export trials.csv'];
  const steps = commands.map((command) => command.replace('ID', search.jobId));
  return [
    '',
    ...(plain.state === 'SUCCEEDED'
      ? []
      : [`${plain.jobId}  ${paintState(plain.state, output)}`, ...describeCause(plain)]),
    `${search.jobId}  ${paintState(search.state, output)}`,
    ...describeCause(search),
    ...facts,
    '',
    ...describeNextSteps({ modelFile, model: 'best model', subject: 'trials', commands: steps }, options),
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
