import { CAUSES, type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { Job } from '#shared/domain/job.ts';
import {
  BOOT_FAILURES_IN_ROW_MAX,
  SETUP_MS_MAX,
  TIMEOUTS,
  type Timeouts,
  UPLOAD_GRACE_MS,
} from '#shared/domain/timeouts.ts';
import { transition } from '#shared/domain/transition.ts';
import { eventsFor, jobAfter, queuedJob } from '../support/domain/example-job.ts';
import { type Decision, exploreLifecycle, type Lifecycle, situationOf } from './explore-lifecycle.ts';

/** Rewrites the page; the test that finds it out of date names this command. */
export const WRITE_COMMAND = 'node test/repository/write-job-lifecycle.ts';

const DEADLINE_MEANINGS: Readonly<Record<keyof Timeouts, string>> = {
  provisionAnswerMs:
    'The provision stage has not answered: it is told again. The VMs have the same names, so nothing doubles.',
  bootMs: `A VM has not reported: the attempt is interrupted, and ${BOOT_FAILURES_IN_ROW_MAX} times in a row the job fails.`,
  pendingMs: 'A VM waits for capacity: it is looked whether it was started, or given up.',
  leaseMs:
    'A replica has sent no heartbeat while others were heard: it is missed, and half as long later the attempt is interrupted.',
  controlPlaneTimeoutMs:
    'Added to a lease while nobody is heard: the agent has stopped its VM, and the attempt is interrupted.',
  teardownMs: 'The VMs of a job that is over are still there: their deletion is asked for again.',
  maxRunningGraceMs: 'The agent did not stop a job at its maxRunningTime: the control plane ends it.',
  earlyCancelMs: 'A cancel came before its job, and the job has not come since: the message is acknowledged.',
  coolDownMs: 'A zone that has just refused is asked again, by any job that wants the same machine.',
  backoffMsMin:
    'Every zone has refused: the ladder is begun again, the first time after this, then after twice as long.',
  backoffMsMax: 'The longest of these waits.',
};

/** The page `docs/job-lifecycle.md`, written from the rules by following jobs through everything that can happen. */
export function renderJobLifecycle(): string {
  const lifecycle = exploreLifecycle();
  return `${[
    '# The life of a job',
    `<!-- Written from the rules in shared/domain by \`${WRITE_COMMAND}\`: change those, not this page. -->`,
    [
      'A job is moved by events and by nothing else. `transition` (`shared/domain/transition.ts`) decides what it becomes and',
      'what must be done; the decision, the handled event and the debts are one commit. What is not in the table below is',
      'ignored: a message that comes twice, late or about an attempt that is over changes nothing.',
    ].join('\n'),
    renderDiagram(lifecycle.decisions),
    [
      '`QUEUED, backing off` waits before it looks for a place again. `CLOSING` has its verdict and still has VMs: users see',
      'the state from before, or `CANCELLING`, until Compute Engine lists none of them. Only then is the job what it ended as.',
    ].join('\n'),
    '## What is decided',
    [
      '*Shows* is the state that users see from then on; a dash leaves it. Effects are messages to the stages: `PROVISION`',
      'and `TEARDOWN` to the stages of those names, `JOB_UPDATE` to the topic `job-updates`. A new attempt fences off the old one.',
      'What a job waits for is announced, too, whenever it is something else than before, whatever event says it.',
    ].join('\n'),
    renderDecisions(lifecycle.decisions),
    '## How long each wait lasts',
    'No job waits for ever: the watcher looks at it again when its deadline has passed.',
    renderDeadlines(),
    '## Why attempts and jobs end',
    [
      'Every end has one cause. Its class decides what follows; `dropforge jobs describe` shows the cause with its evidence',
      'and this remedy.',
    ].join('\n'),
    renderCauses(lifecycle),
  ].join('\n\n')}\n`;
}

function renderDiagram(decisions: readonly Decision[]): string {
  const edges = Map.groupBy(decisions, ({ from, to }) => `${nodeOf(from)} --> ${nodeOf(to)}`);
  const lines = [...edges].map(
    ([edge, ofEdge]) => `${edge}: ${[...new Set(ofEdge.map(({ happening }) => happening.type))].join('<br/>')}`,
  );
  const diagram = [
    'stateDiagram-v2',
    'state "QUEUED, backing off" as BACKING_OFF',
    '[*] --> QUEUED',
    ...lines,
    'CLOSED --> [*]',
  ];
  return ['```mermaid', diagram.join('\n  '), '```'].join('\n');
}

function nodeOf(situation: string): string {
  return situation === 'QUEUED, backing off' ? 'BACKING_OFF' : (/^\w+/.exec(situation)?.[0] ?? situation);
}

function renderDecisions(decisions: readonly Decision[]): string {
  return renderTable(
    ['job is', 'event', 'when', 'job becomes', 'shows', 'effects'],
    decisions.map(({ from, happening, to, isNewAttempt, shows, effects }) => [
      from,
      `\`${happening.type}\``,
      happening.when || '–',
      isNewAttempt ? `${to}, a new attempt` : to,
      shows ?? '–',
      effects.map((effect) => `\`${effect}\``).join(' ') || '–',
    ]),
  );
}

function renderDeadlines(): string {
  const names = Object.keys(DEADLINE_MEANINGS) as (keyof Timeouts)[];
  const rows = [
    ...names.map((name) => renderDeadline(name, TIMEOUTS[name], DEADLINE_MEANINGS[name])),
    renderDeadline('SETUP_MS_MAX', SETUP_MS_MAX, 'The master reports, and still downloads or installs: the job fails.'),
    renderDeadline(
      'UPLOAD_GRACE_MS',
      UPLOAD_GRACE_MS,
      'Added to the last deadline of a job whose master saves its outputs: the job fails.',
    ),
  ];
  return renderTable(['deadline', 'length', 'when it has passed'], rows);
}

function renderDeadline(name: string, lengthMs: number, meaning: string): readonly string[] {
  return [`\`${name}\``, lengthMs < 60_000 ? `${lengthMs / 1_000} s` : `${lengthMs / 60_000} min`, meaning];
}

function renderCauses({ ownCauses }: Lifecycle): string {
  const codes = Object.keys(CAUSES) as CauseCode[];
  return renderTable(
    ['cause', 'class', 'what follows', 'remedy'],
    codes.map((code) => [
      `\`${code}\``,
      CAUSES[code].class,
      ownCauses.has(code) ? 'the job ends with it' : policyOf(code),
      CAUSES[code].remedy,
    ]),
  );
}

const REFUSAL_CLASSES: readonly string[] = ['capacity', 'rate', 'quota'];

/** What the rules do about the cause, tried out on a job that may restart and on one that may not. */
function policyOf(code: CauseCode): string {
  const [plain, restarting] = [0, 1].map((restartsMax) => meet(queuedJob({ restartsMax }), code));
  return plain === restarting ? String(plain) : `${plain}; ${restarting} while restarts are left`;
}

function meet(job: Job, code: CauseCode): string {
  const cause = causeOf(code, 'It ended.');
  const placed = jobAfter(job, ['PLACEMENT_CHOSEN', 1_000]);
  const created = jobAfter(placed, ['VMS_CREATED', 2_000], ['REPLICA_STARTED', 3_000]);
  const isRefusal = REFUSAL_CLASSES.includes(CAUSES[code].class);
  const { job: next } = isRefusal
    ? transition(placed, { ...eventsFor(placed, 4_000).PLACEMENT_FAILED, failure: { cause, zonesAvailable: [] } })
    : transition(created, { ...eventsFor(created, 4_000).REPLICA_EXITED, exit: { outcome: 'FAILED', cause } });
  if (next.attempt > job.attempt) {
    return 'a new attempt';
  }
  return POLICY_OF_SITUATION[situationOf(next)] ?? situationOf(next);
}

const POLICY_OF_SITUATION: Readonly<Record<string, string>> = {
  QUEUED: 'the next zone at once',
  'QUEUED, backing off': 'the same zones again, after a wait',
  'CLOSING as FAILED': 'the job fails',
};

function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
