import type { Output } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';
import { describeWarnings } from '#cli/render/describe-report.ts';
import { formatMoment } from '#cli/render/format.ts';
import { formatImages } from '#cli/render/format-images.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { paint, paintState } from '#cli/render/paint.ts';
import { LABELS } from '#shared/diagnosis/rules/labels.ts';
import { CAUSES } from '#shared/domain/cause.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { formatBytes, formatPercent, formatValue } from '#shared/text/format-number.ts';
import { formatAgo, formatClock, formatDuration } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

/** The length of the root line that is shown, which is enough to find it in the evidence. */
const ROOT_CHARACTERS = 200;

type RenderOptions = {
  /** Those of intake. */
  readonly warnings: readonly Problem[];
  readonly nowMs: number;
  readonly output: Output;
  /** Address of the page; null if a browser cannot open it without the user's identity. */
  readonly pageUrl: string | null;
};
type ReplicaView = JobView['replicas'][number];

/** Formats a job: its properties, cause, warnings, past attempts and replicas. */
export function describeJob(job: JobView, { warnings, nowMs, output, pageUrl }: RenderOptions): string {
  const title = `${paint(job.jobId, 'bold', output)}  ${paintState(job.state, output)}`;
  const sections = [
    [title, ...formatFacts(listFacts(job, nowMs))],
    describeCause(job, pageUrl),
    describeWarnings([...warnings, ...job.warnings], output),
    describeHealth(job, nowMs, output),
    job.attempts.length === 0 ? [] : ['Past attempts', ...indent(describeAttempts(job, nowMs))],
    job.replicas.length === 0 ? [] : ['Replicas', ...indent(describeReplicas(job.replicas, nowMs))],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

/** Describes the findings of the agents about the training, those that last first. */
function describeHealth({ health }: JobView, nowMs: number, output: Output): readonly string[] {
  const lasting = health.filter(({ untilTime }) => untilTime === null);
  const over = health.filter(({ untilTime }) => untilTime !== null);
  const lines = [...lasting, ...over].flatMap(({ code, replica, message, remedy, evidence, sinceTime, untilTime }) => {
    const time = untilTime === null ? `began ${formatAgo(sinceTime, nowMs)}` : `ended ${formatAgo(untilTime, nowMs)}`;
    const title = untilTime === null ? paint(code, 'yellow', output) : code;
    const shown = untilTime === null ? evidence.map((line) => `    | ${line}`) : [];
    return [`  ${title} (${replica}, ${time}): ${message}`, `    → ${remedy}`, ...shown];
  });
  return lines.length === 0 ? [] : ['Health', ...lines];
}

type Facts = readonly (readonly [string, string | null])[];

/** Formats facts as indented lines; those without a value are omitted. */
export function formatFacts(facts: Facts): readonly string[] {
  return facts
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `  ${name.padEnd(12)}${value}`);
}

function listFacts(job: JobView, nowMs: number): Facts {
  const { placement, price } = job;
  const machines = job.machines.map(
    ({ role, count, machineType, accelerator }) =>
      `${count} ${role} on ${machineType}${accelerator ? ` with ${accelerator}` : ''}`,
  );
  return [
    ['trial', job.trial && describeTrial(job.trial)],
    ['created', formatMoment(job.createTime, nowMs)],
    ['started', job.startTime && formatMoment(job.startTime, nowMs)],
    ['ended', job.endTime && formatMoment(job.endTime, nowMs)],
    ['waiting for', job.waitingFor && describeWait(job.waitingFor)],
    ['machines', machines.join(', ')],
    ['image', formatImages(job.images)],
    ['placement', placement && `${placement.zone}, ${placement.provisioningModel}, ${placement.machineImage}`],
    ['attempt', String(job.attempt)],
    ['output', job.jobDir],
    ['submitted by', job.submittedBy],
    ['source', job.source],
    ['report', job.report],
    [
      'labels',
      Object.entries(job.labels)
        .map((label) => label.join('='))
        .join(', '),
    ],
    ['price', describePrice(price)],
    ['kept', describeKept(job).join('\n  ')],
  ];
}

/** For how long the VM of the failed program is kept, or was, and how to look at it; empty if it is not kept. */
export function describeKept({ jobId, kept }: JobView): readonly string[] {
  if (kept === null) {
    return [];
  }
  const { replica, vmName, untilTime, releaseTime, perHourUsd } = kept;
  const rate = perHourUsd === null ? 'unknown price' : `${formatUsd(perHourUsd)}/h`;
  if (releaseTime !== null) {
    return [`VM ${vmName} (${replica}) was kept until ${formatClock(releaseTime)}, ${rate}`];
  }
  return [
    `VM ${vmName} (${replica}) is kept until ${formatClock(untilTime)}, ${rate}`,
    `  → Look at it: ${programName()} exec ${jobId}`,
    `  → End it: ${programName()} jobs release ${jobId}`,
  ];
}

/** `VM kept until 14:30`, while it is billed; otherwise ''. */
export function describeKeptBriefly({ kept }: JobView): string {
  return kept === null || kept.releaseTime !== null ? '' : `VM kept until ${formatClock(kept.untilTime)}`;
}

function describeTrial({ tuningId, trialId }: NonNullable<JobView['trial']>): string {
  return `${trialId} of tuning ${tuningId}; for its values and measurements: ${programName()} trials ${tuningId} ${trialId}`;
}

/** The cause of the wait and its remedy. The remedy of a stockout in CAUSES is for a job that failed because of it. */
function describeWait({ code, message }: NonNullable<JobView['waitingFor']>): string {
  const remedy =
    code === 'STOCKOUT'
      ? 'No action needed: all zones are retried until one has capacity or scheduling.maxWaitTime has passed.'
      : Object.entries(CAUSES).find(([name]) => name === code)?.[1].remedy;
  return remedy === undefined ? `${code}: ${message}` : `${code}: ${message}\n    → ${remedy}`;
}

/** The job's cost on Google Cloud, at list prices. */
export function describePrice({ totalUsd, perHourUsd, billedSeconds, asOf }: JobView['price']): string {
  const billed = `${formatDuration(billedSeconds * 1_000)} of VM time`;
  if (totalUsd === null || perHourUsd === null) {
    return `unknown for these machines (${billed})`;
  }
  const rate = `${formatUsd(perHourUsd)} per hour`;
  return `${formatUsd(totalUsd)} on Google Cloud: ${billed} at ${rate} (list prices as of ${asOf})`;
}

/** `pageUrl`: address of the page, which has a section for each diagnosis, with examples; null if it has none. */
export function describeCause({ cause, errorMessage }: JobView, pageUrl: string | null = null): readonly string[] {
  if (cause === null) {
    return errorMessage === null ? [] : [errorMessage];
  }
  // The remedy comes before the evidence, because some remedies refer to the lines below.
  return [
    `${cause.code}: ${cause.message}`,
    ...describeDiagnosis(cause, pageUrl),
    `  → ${cause.remedy}`,
    ...cause.evidence.map((line) => `  ${isRootLine(line, cause.rootLine) ? '>' : '|'} ${line}`),
  ];
}

/** Describes the label, since a user need not have the documentation. That of a newer API may be unknown here. */
function describeDiagnosis(
  { label, canRetryHelp }: NonNullable<JobView['cause']>,
  pageUrl: string | null,
): readonly string[] {
  if (label === null) {
    return [];
  }
  const retry = canRetryHelp ? 'a retry can help' : 'a retry cannot help';
  const meaning = Object.entries(LABELS).find(([name]) => name === label)?.[1].explanation;
  return [
    `  ${label}: ${retry}${meaning === undefined ? '' : `. ${meaning}`}`,
    ...(pageUrl === null ? [] : [`    ${pageUrl}/diagnosis/${label}`]),
  ];
}

/** The root is stored without terminal escapes and the middle of a long line. */
function isRootLine(line: string, root: string | null): boolean {
  return root !== null && root.trim() !== '' && line.includes(root.trim().slice(0, ROOT_CHARACTERS));
}

function describeAttempts(job: JobView, nowMs: number): string {
  const rows = job.attempts.map(({ attempt, zone, startTime, endTime, cause, message }) => [
    String(attempt),
    zone ?? '-',
    startTime === null ? 'not started' : formatDuration(Date.parse(endTime) - Date.parse(startTime)),
    formatAgo(endTime, nowMs),
    cause === null ? '' : `${cause}: ${message ?? ''}`,
  ]);
  return formatTable(['ATTEMPT', 'ZONE', 'DURATION', 'ENDED', 'CAUSE'], rows);
}

function describeReplicas(replicas: readonly ReplicaView[], nowMs: number): string {
  const rows = replicas.map((replica) => [
    replica.replica,
    replica.vmName,
    replica.phase,
    formatAgo(replica.heardTime, nowMs),
    describeProgress(replica) || '-',
    describeUsage(replica) || '-',
  ]);
  return formatTable(['REPLICA', 'VM', 'PHASE', 'HEARTBEAT', 'PROGRESS', 'USAGE'], rows);
}

/** Formats steps and metrics: `step 12 of 30, loss 0.1203, accuracy 0.9611`. */
export function describeProgress({
  step,
  stepsMax,
  metrics,
}: Pick<ReplicaView, 'step' | 'stepsMax' | 'metrics'>): string {
  const steps = step === null ? [] : [`step ${step}${stepsMax === null ? '' : ` of ${stepsMax}`}`];
  const values = Object.entries(metrics).map(([name, value]) => `${name} ${formatValue(value)}`);
  return [...steps, ...values].join(', ');
}

function describeUsage({ cpuFraction, memoryBytes, diskBytes, gpus }: ReplicaView): string {
  const parts = [
    cpuFraction === null ? '' : `CPU ${formatPercent(cpuFraction)}`,
    memoryBytes === null ? '' : `memory ${formatBytes(memoryBytes)}`,
    diskBytes === null ? '' : `disk ${formatBytes(diskBytes)}`,
    ...gpus.map(
      ({ name, busyFraction, memoryBytes: bytes }) => `${name} ${formatPercent(busyFraction)}, ${formatBytes(bytes)}`,
    ),
  ];
  return parts.filter(Boolean).join(', ');
}

function indent(text: string): readonly string[] {
  return text.split('\n').map((line) => `  ${line}`);
}
