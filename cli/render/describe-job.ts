import type { Output } from '#cli/core/command.ts';
import { copyCommand, programName } from '#cli/core/program-name.ts';
import { describeWarnings } from '#cli/render/describe-report.ts';
import { formatTrials } from '#cli/render/describe-trial.ts';
import { describeResult } from '#cli/render/describe-tuning.ts';
import { describeBlock, formatFacts, joinSections } from '#cli/render/format.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { paint, paintState } from '#cli/render/paint.ts';
import { LABELS } from '#shared/diagnosis/rules/labels.ts';
import { CAUSES } from '#shared/domain/cause.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import { formatAgo, formatSpan } from '#shared/text/format-time.ts';
import { isKept } from '#shared/views/describe/describe-kept.ts';
import { describeProgress, describeUsage } from '#shared/views/describe/describe-replica.ts';
import { type JobFactName, listJobFacts } from '#shared/views/describe/job-facts.ts';

/** The length of the root line that is shown, which is enough to find it in the evidence. */
const ROOT_CHARACTERS = 200;
/** The length of a replica's cause in its row; JSON has all of it. */
const CAUSE_CHARACTERS = 100;

type RenderOptions = {
  /** Those of intake. */
  readonly warnings: readonly Problem[];
  /** The best trials of a tuning, best first. */
  readonly top: readonly TrialView[];
  readonly nowMs: number;
  readonly output: Output;
  /** Address of the page; null if a browser cannot open it without the user's identity. */
  readonly pageUrl: string | null;
};
type ReplicaView = JobView['replicas'][number];

const FACTS = [
  ...['trial', 'created', 'started', 'ended', 'waitingFor', 'search', 'progress', 'best', 'optimal', 'recommended'],
  ...['cost', 'forecast', 'stopped', 'resumes', 'machines', 'image', 'placement', 'attempt', 'output', 'submittedBy'],
  ...['commit', 'source', 'report', 'labels', 'kept'],
] as const;

/**
 * Formats a job or tuning: its properties, cause, warnings, findings, trials or attempts, replicas, and what to do
 * next.
 */
export function describeJob(job: JobView, { warnings, top, nowMs, output, pageUrl }: RenderOptions): string {
  const facts = listJobFacts(job, FACTS, nowMs).map(
    ({ name, header, text }) => [header.toLowerCase(), `${text}${hintOf(name, job)}`] as const,
  );
  return joinSections([
    [`${paint(job.jobId, 'bold', output)}  ${paintState(job.state, output)}`, ...formatFacts(facts)],
    describeCause(job, pageUrl),
    describeWarnings([...warnings, ...job.warnings], output),
    describeHealth(job, nowMs, output),
    ...(job.tuning === null || top.length === 0
      ? []
      : [
          describeBlock(
            job.tuning.optimal === null ? 'Best trials' : 'Optimal trials first',
            formatTrials(top, job.tuning, output),
          ),
        ]),
    job.attempts.length === 0 ? [] : describeBlock('Past attempts', describeAttempts(job, nowMs)),
    job.replicas.length === 0 ? [] : describeBlock('Replicas', describeReplicas(job.replicas, nowMs)),
    ...(job.tuning === null ? [] : [describeBlock('Next', listNextSteps(job, job.tuning).join('\n'))]),
  ]);
}

/**
 * The end of a job in lines: its state, the result of a tuning, the cause of a failure, its kept VM and its warnings.
 */
export function describeEnd(title: string, job: JobView, output: Output): string {
  return [
    title,
    ...(job.tuning === null ? [] : [describeResult(job.tuning)]),
    ...describeCause(job),
    ...listJobFacts(job, ['kept'], Date.now()).map(({ name, text }) => `${text}${hintOf(name, job)}`),
    ...describeWarnings(job.warnings, output),
  ].join('\n');
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

/** The remedy for a fact, and the commands that show more of it. */
function hintOf(name: JobFactName, { jobId, trial, waitingFor, kept }: JobView): string {
  if (name === 'trial' && trial !== null) {
    return `; for its values and measurements: ${programName()} trials ${trial.tuningId} ${trial.trialId}`;
  }
  if (name === 'waitingFor' && waitingFor !== null) {
    const remedy = remedyOfWait(waitingFor.code);
    return remedy === undefined ? '' : `\n    → ${remedy}`;
  }
  return name === 'kept' && isKept({ kept })
    ? `\n    → Look at it: ${programName()} exec ${jobId}\n    → End it: ${programName()} jobs release ${jobId}`
    : '';
}

/** The remedy of a stockout in CAUSES is for a job that failed because of it. */
function remedyOfWait(code: string): string | undefined {
  return code === 'STOCKOUT'
    ? 'No action needed: all zones are retried until one has capacity or scheduling.maxWaitTime has passed.'
    : Object.entries(CAUSES).find(([name]) => name === code)?.[1].remedy;
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
    formatSpan({ startTime, endTime }, nowMs) || 'not started',
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
    String(replica.restarts),
    String(replica.exitCode ?? '-'),
    formatAgo(replica.heardTime, nowMs),
    describeProgress(replica) || '-',
    describeUsage(replica) || '-',
    replica.cause === null ? '-' : `${replica.cause.code}: ${replica.cause.message.slice(0, CAUSE_CHARACTERS)}`,
  ]);
  const head = ['REPLICA', 'VM', 'PHASE', 'RESTARTS', 'EXIT', 'HEARTBEAT', 'PROGRESS', 'USAGE', 'CAUSE'];
  return formatTable(head, rows);
}

function listNextSteps({ jobId, jobDir, endTime }: JobView, tuning: TuningView): readonly string[] {
  const best = tuning.best ?? tuning.optimal?.trials[0] ?? null;
  return [
    ...(endTime === null ? [`${programName()} jobs stream-logs ${jobId}`] : []),
    `${programName()} trials ${jobId}`,
    `${programName()} jobs stream-logs ${jobId} --trial ${best?.trialId ?? 1}`,
    ...(best === null ? [] : [copyCommand(`${jobDir}/${best.trialId}`)]),
  ];
}
