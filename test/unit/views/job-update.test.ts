import { describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import { jobUpdateOf } from '#shared/domain/effect.ts';
import type { Job } from '#shared/domain/job.ts';
import { jsonBytesOf } from '#shared/domain/job-size.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { attributesOf } from '#shared/observability/invocation.ts';
import { updateOf } from '#shared/ports/read-submitted.ts';
import { JOB_UPDATE_BYTES_MAX, jobUpdateSchema, uploadRefusedSchema } from '#shared/protocol/job-update.ts';
import { publishRefusal } from '#shared/use-cases/intake/publish-refusal.ts';
import { messageOfUpdate } from '#shared/views/job-update.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import { closedTuning } from '../../support/domain/example-tuning.ts';

const PAGE = 'https://train.example.com/';

const running = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['VMS_CREATED', 2_000], ['REPLICA_STARTED', 3_000]);
const interrupted = jobAfter(running, ['ATTEMPT_INTERRUPTED', 4_000]);

function failed(evidence: readonly string[], message = 'The program ended with exit code 1.'): Job {
  const diagnosis = { label: 'gpu_oom', remedy: 'Set the batch size to 128.', canRetryHelp: false };
  const cause = { ...causeOf('PROGRAM_FAILED', message, evidence), diagnosis };
  const exited = { ...eventsFor(running, 4_000).REPLICA_EXITED, exit: { outcome: 'FAILED', cause } } as const;
  return jobAfter(transition(running, exited, TIMEOUTS).job, ['VMS_GONE', 63_000]);
}

describe('a job update', () => {
  it('says why a job failed, what to do, what it cost, and where to read more', () => {
    const job = failed(['a', 'b']);
    const { message, attributes } = messageOfUpdate(jobUpdateOf(job), job, { pageUrl: PAGE });

    expect(message).toMatchObject({
      type: 'JOB_UPDATE',
      schemaVersion: 1,
      jobId: 'digits',
      state: 'FAILED',
      attempt: 1,
      job: {
        kind: 'TRAINING',
        endTime: '1970-01-01T00:01:03.000Z',
        cause: { code: 'PROGRAM_FAILED', label: 'gpu_oom', remedy: 'Set the batch size to 128.', evidence: ['a', 'b'] },
        costUsd: expect.any(Number),
        links: {
          page: 'https://train.example.com/jobs/digits',
          logs: 'https://train.example.com/v1/jobs/digits/logs',
          report: 'gs://uploads/job.yaml.report.json',
          jobDirectory: 'gs://jobs/digits',
        },
      },
    });
    expect(attributes).toEqual({
      ...{ type: 'JOB_UPDATE', jobId: 'digits', state: 'FAILED', attempt: '1' },
      ...{
        kind: 'TRAINING',
        cause: 'PROGRAM_FAILED',
        label: 'gpu_oom',
        traceparent: attributesOf('digits').traceparent,
      },
    });
    expect(jobUpdateSchema.parse(message)).toEqual(message);
  });

  it('says why the previous attempt was interrupted', () => {
    expect(messageOfUpdate(jobUpdateOf(interrupted), interrupted, {}).message).toMatchObject({
      state: 'QUEUED',
      attempt: 2,
      job: { interruption: { code: 'PREEMPTED' }, cause: null, costUsd: null, links: { page: null, logs: null } },
    });
  });

  it('has no snapshot if the job has moved on, so that state and snapshot always agree', () => {
    const update = jobUpdateOf(running);
    expect(messageOfUpdate(update, interrupted, { pageUrl: PAGE }).message).toEqual({
      ...{ type: 'JOB_UPDATE', schemaVersion: 1, jobId: 'digits', state: 'RUNNING', attempt: 1, job: null },
    });
    expect(messageOfUpdate(update, undefined, { pageUrl: PAGE }).message.job).toBeNull();
  });

  it('of a trial names its tuning, and a tuning has one of its own', () => {
    const trial = { ...queuedJob(), trial: { tuningId: 'search', ordinal: 3, metricIds: ['accuracy'] } };
    const { message, attributes } = messageOfUpdate(jobUpdateOf(trial), trial, { pageUrl: PAGE });
    expect(message.job).toMatchObject({ kind: 'TRIAL', tuningId: 'search' });
    expect(attributes).toMatchObject({ kind: 'TRIAL', tuningId: 'search' });
    const tuning = closedTuning();
    expect(messageOfUpdate(updateOf(tuning), tuning, { pageUrl: PAGE }).message).toMatchObject({
      jobId: tuning.tuningId,
      attempt: 0,
      job: { kind: 'TUNING', costUsd: tuning.spentUsd },
    });
  });

  it('stays below its limit however long texts, evidence, labels and addresses are', () => {
    const long = failed(
      Array.from({ length: 40 }, (_, line) => `${line} ${'\u0001'.repeat(2_000)}`),
      '"'.repeat(1_000_000),
    );
    const labels = Object.fromEntries(
      Array.from({ length: 64 }, (_, number) => [`${number}`.padEnd(63, 'k'), 'é'.repeat(63)]),
    );
    const spec = { ...long.spec, labels, jobDir: `gs://b/${'é'.repeat(100_000)}` };
    const job = { ...long, spec } as Job;
    const { message } = messageOfUpdate(jobUpdateOf(job), job, { pageUrl: PAGE });
    expect(jsonBytesOf(message)).toBeLessThan(JOB_UPDATE_BYTES_MAX);
    expect(message.job?.cause?.evidence.length).toBeGreaterThan(0);
  });
});

describe('a refused upload', () => {
  const submission = {
    source: 'gs://uploads/job.yaml',
    reportObject: { bucket: 'uploads', name: 'job.yaml.report.json' },
    generation: '17',
  };

  async function announced(jobId: string | null, problems: number) {
    const published: { data: object; attributes: Readonly<Record<string, string>> }[] = [];
    const bus = {
      publish: async (_: string, data: object, attributes = {}) => String(published.push({ data, attributes })),
    };
    const problem = { code: 'UNKNOWN_REGION', message: 'm'.repeat(5_000), remedy: 'r'.repeat(5_000) };
    const outcome = { jobId, problems: Array.from({ length: problems }, () => problem) };
    await publishRefusal({ bus }, submission, outcome);
    const [{ data, attributes } = { data: {}, attributes: {} }] = published;
    return { message: uploadRefusedSchema.parse(data), attributes };
  }

  it('is announced with its first problems, their number and its report', async () => {
    const { message, attributes } = await announced('digits', 300);
    expect(message).toMatchObject({
      ...{ type: 'UPLOAD_REFUSED', state: 'REFUSED', jobId: 'digits', problemCount: 300 },
      report: 'gs://uploads/job.yaml.report.json',
    });
    expect(message.problems).toHaveLength(5);
    expect(jsonBytesOf(message)).toBeLessThan(JOB_UPDATE_BYTES_MAX);
    expect(attributes).toEqual({ type: 'UPLOAD_REFUSED', state: 'REFUSED', ...attributesOf('digits') });
  });

  it('has the same id in every message, and an attribute for its job id only if that is valid', async () => {
    const [first, second] = [await announced('not valid!', 1), await announced(null, 2)];
    expect(first.message.uploadId).toBe(second.message.uploadId);
    expect(first.attributes).not.toHaveProperty('jobId');
  });
});
