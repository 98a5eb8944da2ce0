import { describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { Job } from '#shared/domain/job.ts';
import { describeDenial, findPerimeterDenial } from '#shared/domain/perimeter-denial.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { PERIMETER_RETRY_MS, PERIMETER_SETTLING_MS_MAX } from '#shared/domain/timeouts.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

const ID = 'eYhDkfYCu-dOCjuj8X4Am9-spkxs0-kX5YnhAJmc3PZ7pmNNfSsqtQ';
const SENTENCE = `Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: ${ID}`;

it.each([
  [
    'the JSON API of Cloud Storage',
    JSON.stringify({ error: { code: 403, message: SENTENCE, errors: [{ reason: 'vpcServiceControls' }] } }),
  ],
  ['a client library', `googleapi: Error 403: ${SENTENCE}`],
  [
    'the XML API of Cloud Storage',
    `<Code>SecurityPolicyViolated</Code><Message>Request violates VPC Service Controls.</Message><Details>vpcServiceControlsUniqueIdentifier: ${ID}</Details>`,
  ],
])('finds the unique id in the answer of %s', (_, answer) => {
  expect(findPerimeterDenial(answer)).toEqual({ uniqueId: ID });
});

it('finds a denial without a unique id', () => {
  const answer = '{"reason":"SECURITY_POLICY_VIOLATED","domain":"googleapis.com"}';
  expect(findPerimeterDenial(answer)).toEqual({ uniqueId: null });
  expect(describeDenial('it', { uniqueId: null })).toBe('VPC Service Controls denied it.');
});

it.each([
  'trainer@p.iam.gserviceaccount.com does not have storage.objects.get access to the Google Cloud Storage object.',
  'Constraint constraints/compute.vmExternalIpAccess violated for project p.',
  '',
])('finds none in another refusal: %s', (answer) => {
  expect(findPerimeterDenial(answer)).toBeNull();
});

it('takes bounded time for hostile text', () => {
  const text = 'vpcServiceControlsUniqueIdentifier'.repeat(20_000);
  expect(findPerimeterDenial(text)).toBeNull();
});

describe('a job that a perimeter denies', () => {
  const cause = causeOf('PERIMETER_DENIED', 'VPC Service Controls denied it.');

  function denyPlacement(job: Job, at: number): Job {
    const placed = jobAfter(job, ['DEADLINE_PASSED', at], ['PLACEMENT_CHOSEN', at]);
    return transition(placed, { ...eventsFor(placed, at).PLACEMENT_FAILED, failure: { cause, zonesAvailable: [] } })
      .job;
  }

  function denyVm(job: Job, at: number): Job {
    return transition(job, { ...eventsFor(job, at).REPLICA_EXITED, exit: { outcome: 'FAILED', cause } }).job;
  }

  const created = (job: Job, at: number) =>
    jobAfter(job, ['DEADLINE_PASSED', at], ['PLACEMENT_CHOSEN', at], ['VMS_CREATED', at]);

  it('is placed again in the same attempt until half an hour after the first denial, as a changed perimeter needs', () => {
    const first = 1_000_000;
    const denied = denyPlacement(queuedJob(), first);
    expect(denied).toMatchObject({ status: 'QUEUED', attempt: 1, waitingFor: cause, deniedSince: first });
    expect(denied).toMatchObject({ exhaustedZones: [], wakeAt: first + PERIMETER_RETRY_MS });
    const late = denyPlacement(denied, first + PERIMETER_SETTLING_MS_MAX - 1);
    expect(late).toMatchObject({ status: 'QUEUED', deniedSince: first });
    expect(denyPlacement(denied, first + PERIMETER_SETTLING_MS_MAX)).toMatchObject({
      status: 'CLOSING',
      verdict: { state: 'FAILED', cause },
    });
  });

  it('gets another VM if its VM was denied before the program ran, and fails half an hour after the first denial', () => {
    const first = 1_000_000;
    const denied = denyVm(created(queuedJob(), first), first);
    expect(denied).toMatchObject({ status: 'QUEUED', attempt: 2, wakeAt: first + PERIMETER_RETRY_MS });
    const last = first + PERIMETER_SETTLING_MS_MAX;
    expect(denyVm(created(denied, last), last)).toMatchObject({ verdict: { state: 'FAILED', cause } });
  });

  it('fails at once if its program has run: what it did would be repeated', () => {
    const running = jobAfter(created(queuedJob(), 1_000), ['REPLICA_STARTED', 2_000]);
    expect(denyVm(running, 3_000)).toMatchObject({ verdict: { state: 'FAILED', cause } });
  });

  it('counts from the next denial once its program has run', () => {
    const denied = denyPlacement(queuedJob(), 1_000);
    const running = jobAfter(created(denied, 500_000), ['REPLICA_STARTED', 500_001]);
    const interrupted = jobAfter(running, ['ATTEMPT_INTERRUPTED', PERIMETER_SETTLING_MS_MAX + 1_000]);
    expect(denyPlacement(interrupted, PERIMETER_SETTLING_MS_MAX + 2_000).status).toBe('QUEUED');
  });
});
