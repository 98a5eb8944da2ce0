import type { SubmissionVerdict } from '#shared/protocol/submission.ts';
import { formatDuration } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';
import { describeGroup, listModels } from '#shared/views/describe/describe-machines.ts';

type Plan = NonNullable<SubmissionVerdict['plan']>;

const MODELS: Readonly<Record<string, string>> = {
  STANDARD: 'On demand',
  SPOT: 'Spot: may be preempted, and then continues from its last checkpoint',
  FLEX_START: 'Flex-start: may wait for capacity, unbilled',
};

/** The machines of a job and what they cost. */
export function PlanCard({ plan }: { readonly plan: Plan }) {
  const { perHourUsd, onDemandPerHourUsd, runningSecondsMax, trials } = plan;
  const models = listModels(plan.machines, plan.provisioningModel).map((model) => MODELS[model] ?? model);
  const hasDiscount = perHourUsd !== null && onDemandPerHourUsd !== null && perHourUsd < onDemandPerHourUsd;
  const costMaxUsd =
    perHourUsd === null || runningSecondsMax === null ? null : (perHourUsd * runningSecondsMax) / 3_600;
  return (
    <section class="card plan" aria-label="Machines and price">
      <div class="plan-machines">
        <h2>Machines</h2>
        <ul>
          {plan.machines.map((group) => (
            <li key={group.role}>{describeGroup(group)}</li>
          ))}
        </ul>
        <p class="muted">{[...models, plan.region].join(' · ')}</p>
        {trials !== null && (
          <p class="muted">
            A tuning of {trials.max ?? '?'} trials, {trials.parallel ?? '?'} at once; the price is that of the trials
            that run at once
          </p>
        )}
      </div>
      <div class="plan-price">
        <h2>Price</h2>
        <p class="plan-hour">
          {formatUsd(perHourUsd)}
          <span class="muted">/h</span>
        </p>
        {hasDiscount && <p class="muted">instead of {formatUsd(onDemandPerHourUsd)}/h on demand</p>}
        {runningSecondsMax !== null && costMaxUsd !== null && (
          <p class="muted">
            {formatUsd(costMaxUsd)} at most, when its time limit of {formatDuration(runningSecondsMax * 1_000)} is
            reached
          </p>
        )}
        <p class="muted">List prices of {plan.pricesAsOf}, billed by the second</p>
      </div>
    </section>
  );
}
