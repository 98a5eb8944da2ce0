import { Fact } from '#dashboard/components/fact.tsx';
import { StateBadge } from '#dashboard/components/state-badge.tsx';
import { formatDateTime } from '#dashboard/format/format-time.ts';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import { JobActions } from '#dashboard/screens/job/job-actions.tsx';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatPercent } from '#shared/text/format-number.ts';
import { formatAgo, formatDuration } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';
import { addressOfCommit, describeCommit } from '#shared/views/describe/describe-commit.ts';
import { listModels, PROVISIONING_MODELS, summarizeMachines } from '#shared/views/describe/describe-machines.ts';
import { progressOf, ranMs } from '#shared/views/describe/progress.ts';

type Props = { readonly job: JobView; readonly now: number; readonly onChange: () => void };

/** Name, state and actions of a job, and the facts by which jobs are told apart. */
export function JobHeader({ job, now, onChange }: Props) {
  const labels = Object.entries(job.labels);
  return (
    <header class="job-header">
      <div class="job-title">
        <h1 class="screen-title user-text">{job.jobId}</h1>
        <StateBadge state={job.state} />
        {job.trial !== null && (
          <span class="muted">
            trial {job.trial.trialId} of <Link href={addressOfJob(job.trial.tuningId)}>{job.trial.tuningId}</Link>
          </span>
        )}
        {labels.map(([name, value]) => (
          <span key={name} class="tag user-text">
            {value === '' ? name : `${name}: ${value}`}
          </span>
        ))}
        <JobActions job={job} onChange={onChange} />
      </div>
      <JobFacts job={job} now={now} />
      <ProgressBar job={job} now={now} />
      {job.replicas.some(({ phase }) => phase === 'PULLING') && <div class="progress">Pulling the image</div>}
    </header>
  );
}

function JobFacts({ job, now }: Pick<Props, 'job' | 'now'>) {
  const { machines, gpus } = summarizeMachines(job.machines);
  const last = job.timeline.at(-1);
  const zone = job.placement?.zone ?? last?.zone ?? null;
  const models = listModels(job.machines, job.placement?.provisioningModel ?? last?.provisioningModel);
  const { perHourUsd, totalUsd } = job.price;
  const ran = ranMs(job, now);
  return (
    <dl class="facts">
      <Fact name="Machine">
        {machines}
        {gpus !== null && <span class="fact-more">{gpus}</span>}
      </Fact>
      {job.tuning === null && (
        <Fact name="Zone">
          {zone ?? '–'}
          {models.length > 0 && (
            <span class="fact-more">{models.map((model) => PROVISIONING_MODELS[model] ?? model).join(' + ')}</span>
          )}
        </Fact>
      )}
      <Fact name={job.endTime === null ? 'Cost so far' : 'Cost'} title="List prices of Compute Engine">
        {formatUsd(totalUsd)}
        <span class="fact-more">{formatUsd(perHourUsd)}/h</span>
      </Fact>
      <Fact name="Created" title={formatDateTime(job.createTime)}>
        {formatAgo(job.createTime, now)}
      </Fact>
      {job.tuning === null && (
        <Fact name="Ran" title="Time in which the program ran, over all attempts">
          {ran > 0 ? formatDuration(ran) : '–'}
        </Fact>
      )}
      {job.git !== null && <Commit git={job.git} />}
      {job.attempt > 0 && <Fact name={job.attempt === 1 ? 'Attempt' : 'Attempts'}>{job.attempt}</Fact>}
    </dl>
  );
}

function Commit({ git }: { readonly git: NonNullable<JobView['git']> }) {
  const address = addressOfCommit(git);
  const short = git.commit.slice(0, 8);
  return (
    <Fact name="Commit" title={describeCommit(git)}>
      {address === null ? (
        short
      ) : (
        <a href={address} rel="noreferrer">
          {short}
        </a>
      )}
      {git.isDirty && <span class="fact-more">with changes</span>}
    </Fact>
  );
}

function ProgressBar({ job, now }: Pick<Props, 'job' | 'now'>) {
  const progress = progressOf(job, now);
  if (progress === null) {
    return null;
  }
  const { step, stepsMax, etaMs } = progress;
  const fraction = stepsMax === null || stepsMax <= 0 ? null : Math.min(1, step / stepsMax);
  return (
    <div class="progress">
      {fraction !== null && (
        <progress class="bar bar-running" value={fraction} max={1} aria-label="Progress of the program">
          {formatPercent(fraction)}
        </progress>
      )}
      <span>
        Step {step.toLocaleString('en-US')}
        {stepsMax !== null && ` of ${stepsMax.toLocaleString('en-US')}`}
        {fraction !== null && ` · ${formatPercent(fraction)}`}
        {etaMs !== null && ` · about ${formatDuration(etaMs)} left`}
      </span>
    </div>
  );
}
