import { describe, expect, it } from 'vitest';
import { classifyExit } from '#shared/diagnosis/classify-exit.ts';
import { type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { ExitFacts } from '#shared/domain/exit-report.ts';
import type { DecisiveFinding } from '#shared/domain/health.ts';
import type { Job } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { factsOf } from '../../support/diagnosis/job-facts.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

const START = [
  ['PLACEMENT_CHOSEN', 1_000],
  ['VMS_CREATED', 2_000],
  ['REPLICA_STARTED', 3_000],
] as const;
const running = jobAfter(queuedJob({ restartsMax: 5 }), ...START);

function unhealthy(health?: DecisiveFinding) {
  const facts: ExitFacts = {
    reason: 'UNHEALTHY',
    exitCode: null,
    signal: 15,
    message: 'The loss was NaN in 3 reports in a row.',
    evidence: ['loss: nan'],
    ...(health && { health }),
  };
  return classifyExit(facts, factsOf('digits'));
}

function afterExit(job: Job, code: CauseCode): Job {
  const exit = { outcome: 'FAILED', cause: causeOf(code, 'It ended.') } as const;
  return transition(job, { ...eventsFor(job, 200_000).REPLICA_EXITED, exit }).job;
}

/** The job in the last of a number of attempts that ended with this cause. */
function afterAttempts(code: CauseCode, count: number): Job {
  let job = afterExit(running, code);
  for (let attempt = 1; attempt < count; attempt += 1) {
    job = afterExit(jobAfter(job, ...START), code);
  }
  return job;
}

describe('a program that was stopped for its health', () => {
  it.each<[DecisiveFinding['code'], DecisiveFinding['action'], CauseCode]>([
    ['NON_FINITE', 'stop', 'METRIC_NOT_FINITE'],
    ['DIVERGING', 'stop', 'TRAINING_DIVERGED'],
    ['STALLED', 'stop', 'TRAINING_STALLED'],
    ['STALLED', 'restart', 'STALL_RESTARTED'],
    ['NON_FINITE', 'rollback', 'ROLLED_BACK'],
  ])('%s with %s has the cause %s, with the remedy of the finding', (code, action, expected) => {
    expect(unhealthy({ code, action, remedy: 'Lower the learning rate.' })).toMatchObject({
      outcome: 'FAILED',
      cause: { code: expected, evidence: ['loss: nan'], diagnosis: { remedy: 'Lower the learning rate.' } },
    });
  });

  it('has an internal error as its cause if its agent names no finding, or one that stops nothing', () => {
    const idle = unhealthy({ code: 'GPU_IDLE', action: 'stop', remedy: '' });
    expect([unhealthy(), idle]).toMatchObject([
      { cause: { code: 'INTERNAL_ERROR' } },
      { cause: { code: 'INTERNAL_ERROR' } },
    ]);
  });

  it.each<CauseCode>(['METRIC_NOT_FINITE', 'TRAINING_DIVERGED', 'TRAINING_STALLED'])(
    'ends its job with %s, although restarts are left',
    (code) => {
      expect(afterExit(running, code)).toMatchObject({
        status: 'CLOSING',
        verdict: { state: 'FAILED', cause: { code } },
      });
    },
  );
});

describe('a program that is restarted for its health', () => {
  it.each<[CauseCode, number, CauseCode]>([
    ['STALL_RESTARTED', 3, 'TRAINING_STALLED'],
    ['ROLLED_BACK', 2, 'METRIC_NOT_FINITE'],
  ])('gets a new attempt after %s, %i times, and ends with %s', (code, count, end) => {
    expect(afterAttempts(code, count)).toMatchObject({ status: 'QUEUED', attempt: count + 1, counts: { restarts: 0 } });
    expect(afterAttempts(code, count + 1)).toMatchObject({
      status: 'CLOSING',
      verdict: {
        state: 'FAILED',
        cause: { code: end, message: `It ended. It was restarted ${count} times for this before.` },
      },
    });
  });
});
