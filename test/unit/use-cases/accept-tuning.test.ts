import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { JOB_BYTES_MAX, jsonBytesOf } from '#shared/domain/job-size.ts';
import type { Parameter, Study } from '#shared/domain/study.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { RUNG_VALUES_MAX, RUNGS_MAX } from '#shared/tuning/stopping/asha.ts';
import { CURVE_POINTS_MAX, PARALLEL_TRIALS_MAX, type Trial } from '#shared/tuning/trial.ts';
import { RESUMES_MAX } from '#shared/tuning/tuning.ts';
import { type DeadLetterPorts, handleDeadLetter } from '#shared/use-cases/dead-letters/handle-dead-letter.ts';
import { type Accepted, type AcceptPorts, acceptSubmission } from '#shared/use-cases/intake/accept-submission.ts';
import { cancelJob, handleCancelMessage } from '#shared/use-cases/intake/cancel-job.ts';
import { checkResumedTuning } from '#shared/use-cases/intake/checks/resumed-tuning.ts';
import { type ReportPorts, reportJob } from '#shared/use-cases/reports/report-job.ts';
import { listSubmitted } from '#shared/views/list-submitted.ts';
import { noLog } from '../../support/collected-log.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { closedTuning, STUDY, searchingTuning, succeededTrial } from '../../support/domain/example-tuning.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';
import { withUpdates } from '../../support/use-cases/updates.ts';

let database: Database;
let published: { readonly topic: string; readonly data: object }[];
let ports: AcceptPorts;

beforeEach(() => {
  database = openDatabase(':memory:');
  published = [];
  ports = withUpdates({
    jobs: openSqliteJobStore(database),
    tunings: openSqliteTuningStore(database),
    bus: { publish: async (topic: string, data: object) => String(published.push({ topic, data })) },
    timeouts: TIMEOUTS,
    logger: noLog,
  });
});
afterEach(() => database.close());

type Changes = { readonly digest?: string; readonly now?: number; readonly study?: Study | null };

/** A tuning, or a job without a study. */
function accepted(changes: Changes = {}): Accepted {
  const { spec, source, zones, packages, warnings } = queuedJob();
  const { digest = source.digest, now = 1_000, study = STUDY } = changes;
  const common = { source: { ...source, digest, deliveryId: digest }, zones, packages, resumes: [], warnings };
  return { ...common, spec: { ...spec, study }, now };
}

const accept = (changes?: Changes) => acceptSubmission(ports, accepted(changes));

describe('an accepted tuning', () => {
  it('is created with a suggestion request, once, however often its submission is delivered', async () => {
    expect(await accept()).toBeNull();
    expect(published.map(({ topic }) => topic)).toEqual(['tuning', 'job-updates']);
    expect(await accept({ now: 5_000 })).toBeNull();
    expect((await ports.tunings.read('digits'))?.record.createdAt).toBe(1_000);
    expect(published).toHaveLength(2);
  });

  it('has an id that no other job and no other tuning has', async () => {
    await accept();
    expect(await accept({ digest: 'other' })).toMatchObject({ code: 'JOB_ID_TAKEN' });
    expect(await accept({ digest: 'other', study: null })).toMatchObject({
      code: 'JOB_ID_TAKEN',
      message: expect.stringContaining('QUEUED'),
    });
    expect(await ports.jobs.read('digits')).toBeUndefined();
  });

  it('is not created beside a job of its id', async () => {
    await accept({ study: null });
    expect(await accept({ digest: 'other' })).toMatchObject({ code: 'JOB_ID_TAKEN' });
    expect(await ports.tunings.read('digits')).toBeUndefined();
  });

  it('is refused if spec and study together are too large', async () => {
    const values = Array.from({ length: 1_000 }, (_, index) => `${index}${'v'.repeat(600)}`);
    const large: Study = {
      ...STUDY,
      parameters: [{ id: 'p', space: { kind: 'CATEGORICAL', values }, scale: 'NONE', children: [] }],
    };
    expect(await accept({ study: large })).toMatchObject({ code: 'JOB_TOO_LARGE' });
  });

  it('stays below the limit of the store at its largest', () => {
    const id = 'x'.repeat(115);
    const numbers = (count: number) =>
      Array.from({ length: count }, (_, index) => -1.234567890123456e-100 * (index + 1));
    const running = Array.from({ length: PARALLEL_TRIALS_MAX }, (_, index) => ({
      ordinal: 10_000 + index,
      jobId: `${id}_trial_${10_000 + index}`,
      since: 1_800_000_000_000,
      checkedAt: 1_800_000_000_000,
      isStopping: false,
      lostBefore: 9,
    }));
    const largest = searchingTuning({
      tuningId: id,
      running,
      resumes: Array(RESUMES_MAX).fill(id),
      bar: { steps: numbers(CURVE_POINTS_MAX), medians: numbers(CURVE_POINTS_MAX), completedCount: 10_000 },
      rungs: numbers(RUNGS_MAX).map((step) => ({ step, reachedCount: 10_000, best: numbers(RUNG_VALUES_MAX) })),
    });
    const own = Buffer.byteLength(JSON.stringify(largest)) - jsonBytesOf(searchingTuning());
    // The warnings of intake, the evidence of a verdict, and some KB of failures are added to it.
    expect(own + (480 << 10) + (32 << 10) + (64 << 10)).toBeLessThanOrEqual(JOB_BYTES_MAX);
  });
});

describe('a tuning that is resumed', () => {
  const resuming = (changes: Partial<Study> = {}): Study => ({ ...STUDY, resumeJobId: 'digits', ...changes });
  const check = async (study: Study = resuming(), tunings = ports.tunings) =>
    runCheck(checkResumedTuning, { spec: { ...queuedJob().spec, study } }, { ...ports, tunings });
  const codesOf = async (changes: Partial<Study> = {}) =>
    (await check(resuming(changes))).problems.map(({ code }) => code);

  async function createClosed(changes: object = {}, trials: readonly Trial[] = []): Promise<void> {
    await ports.tunings.create(searchingTuning(), []);
    const tuning = { ...closedTuning(), ...changes };
    await ports.tunings.commit({ expectedRevision: 1, eventId: 'e', record: tuning, trials, effects: [] });
  }

  it('must exist, and be a tuning', async () => {
    expect(await codesOf()).toEqual(['RESUMED_TUNING_MISSING']);
    await ports.jobs.create(queuedJob(), []);
    const { problems } = await check();
    expect(problems[0]?.message).toContain('tunes no hyperparameters');
  });

  it('must have ended', async () => {
    await ports.tunings.create(searchingTuning(), []);
    expect(await codesOf()).toEqual(['RESUMED_TUNING_RUNS']);
  });

  it('must have the same metric and goal', async () => {
    await createClosed();
    expect(await codesOf()).toEqual([]);
    expect(await codesOf({ metrics: [{ id: 'loss', goal: 'MAXIMIZE', safety: null }] })).toEqual([
      'RESUMED_METRIC_DIFFERS',
    ]);
    const further = { id: 'latency', goal: 'MINIMIZE', safety: null } as const;
    expect(await codesOf({ metrics: [{ id: 'accuracy', goal: 'MAXIMIZE', safety: null }, further] })).toEqual([
      'RESUMED_METRIC_DIFFERS',
    ]);
    expect(await codesOf({ metrics: [{ id: 'accuracy', goal: 'MINIMIZE', safety: null }] })).toEqual([
      'RESUMED_METRIC_DIFFERS',
    ]);
  });

  it('adds itself to those that it has resumed, up to a limit', async () => {
    await createClosed({ resumes: Array.from({ length: RESUMES_MAX - 1 }, (_, index) => `earlier_${index}`) });
    const { pins, problems } = await check();
    const { resumes = [] } = pins;
    expect([resumes.length, resumes[0], problems]).toEqual([RESUMES_MAX, 'digits', []]);
    await ports.tunings.create(searchingTuning({ tuningId: 'last' }), []);
    const last = { ...closedTuning(), tuningId: 'last', resumes };
    await ports.tunings.commit({ expectedRevision: 1, eventId: 'e', record: last, trials: [], effects: [] });
    expect(await codesOf({ resumeJobId: 'last' })).toEqual(['TOO_MANY_RESUMES']);
  });

  it('adds no more of them than have 10,000 trials together, which each suggestion reads', async () => {
    await createClosed({ resumes: ['second', 'third', 'fourth'] });
    const read: string[] = [];
    const listTrials: typeof ports.tunings.listTrials = async (tuningId, { afterOrdinal, countMax }) => {
      read.push(tuningId);
      const count = Math.min(countMax, 6_000 - afterOrdinal);
      return Array.from({ length: count }, (_, index) => succeededTrial(afterOrdinal + index + 1, 0.5));
    };
    const tunings = { ...ports.tunings, listTrials };
    const study = resuming({
      parameters: [{ id: 'rate', space: { kind: 'DOUBLE', min: 0, max: 60 }, scale: 'NONE', children: [] }],
    });
    const { pins, warnings } = await check(study, tunings);
    expect(pins.resumes).toEqual(['digits', 'second']);
    expect(new Set(read)).toEqual(new Set(['digits', 'second']));
    expect(warnings).toMatchObject([{ code: 'RESUMED_TRIALS_IGNORED', message: expect.stringContaining('third') }]);
  });

  it('has trials that lack a parameter of this study, which its default fills', async () => {
    await createClosed({}, [succeededTrial(1, 0.5)]);
    const further = {
      id: 'layers',
      space: { kind: 'INTEGER', min: 1, max: 9 },
      scale: 'LINEAR',
      children: [],
    } as const;
    const codesWith = async (parameter: Parameter) => {
      const study = resuming({ parameters: [...STUDY.parameters, parameter] });
      return (await check(study)).warnings.map(({ code }) => code);
    };
    expect(await codesWith(further)).toEqual(['RESUMED_TRIALS_IGNORED']);
    expect(await codesWith({ ...further, default: 2 })).toEqual([]);
  });

  it('gives its parameters to a study that has none', async () => {
    await createClosed();
    const { pins } = await check(resuming({ parameters: [] }));
    expect(pins.spec?.study?.parameters).toEqual(STUDY.parameters);
  });

  it('is a warning if some of its trials have values that the study does not', async () => {
    await createClosed({}, [succeededTrial(1, 0.5), succeededTrial(2, 0.5, { values: { other: 1 } })]);
    const { warnings } = await check();
    expect(warnings).toMatchObject([{ code: 'RESUMED_TRIALS_IGNORED', message: expect.stringMatching(/^1 of 2 /) }]);
  });
});

describe('a request to cancel', () => {
  it('cancels the tuning of that id, and is redelivered if it overtakes the submission', async () => {
    const message = { jobId: 'digits', publishedAt: 0 };
    expect(await handleCancelMessage(ports, message, 1_000)).toBe('TOO_EARLY');
    await accept();
    expect(await handleCancelMessage(ports, message, 2_000)).toBe('CANCELLED');
    expect((await ports.tunings.read('digits'))?.record).toMatchObject({
      status: 'CLOSED',
      verdict: { state: 'CANCELLED' },
    });
    expect(await cancelJob(ports, { jobId: 'digits', by: null }, 3_000)).toMatchObject({ status: 'CLOSED' });
    expect(await cancelJob(ports, { jobId: 'unknown', by: null }, 3_000)).toBeUndefined();
  });
});

describe('dead letters of a tuning', () => {
  it('fail it when several requests for values in a row could not be handled', async () => {
    await accept();
    const none = {} as DeadLetterPorts['objects'] & DeadLetterPorts['replicas'] & DeadLetterPorts['curves'];
    const intake = { uploadBucket: 'uploads' };
    const reading = { ...ports, objects: none, replicas: none, curves: none, intake };
    for (let count = 1; count <= 10; count += 1) {
      const tuning = (await ports.tunings.read('digits'))?.record;
      if (tuning?.status !== 'SEARCHING') {
        break;
      }
      const body = { type: 'SUGGEST', tuningId: 'digits', from: tuning.asked?.from, count: 2 };
      const data = Buffer.from(JSON.stringify(body));
      const letter = { topic: 'tuning', messageId: String(count), tries: '10', data };
      await handleDeadLetter(reading, letter, 2_000);
    }
    expect((await ports.tunings.read('digits'))?.record).toMatchObject({
      verdict: { state: 'FAILED', cause: { code: 'SUGGESTION_FAILED' } },
    });
  });
});

it('writes no report for the job of a trial, whose tuning has the report of the upload', async () => {
  const trial = { tuningId: 'digits', ordinal: 1, metricIds: ['accuracy'] };
  await ports.jobs.create({ ...queuedJob(), jobId: 'digits_trial_1', trial }, []);
  const none = {} as ReportPorts['objects'] & ReportPorts['replicas'] & ReportPorts['curves'];
  const reading = { ...ports, objects: none, replicas: none, curves: none };
  await expect(reportJob(reading, 'digits_trial_1', 1_000)).resolves.toBeUndefined();
});

describe('the list of jobs and tunings', () => {
  it('has the newest first, page by page, each once', async () => {
    for (const createdAt of [1, 4, 5, 8]) {
      await ports.jobs.create({ ...queuedJob(), jobId: `job_${createdAt}`, createdAt }, []);
    }
    for (const createdAt of [2, 3, 5, 7]) {
      await ports.tunings.create(searchingTuning({ tuningId: `tuning_${createdAt}`, createdAt }), []);
    }
    expect(await listAll(3)).toEqual([
      'job_8',
      'tuning_7',
      'job_5',
      'tuning_5',
      'job_4',
      'tuning_3',
      'tuning_2',
      'job_1',
    ]);
  });

  it('has all others if one cannot be read, also older ones of the same kind', async () => {
    for (const createdAt of [6, 7]) {
      await ports.jobs.create({ ...queuedJob(), jobId: `job_${createdAt}`, createdAt }, []);
    }
    for (const createdAt of [8, 9, 10]) {
      await ports.tunings.create(searchingTuning({ tuningId: `tuning_${createdAt}`, createdAt }), []);
    }
    database.sql.exec(`update tunings set body = '{}' where tuning_id = 'tuning_9'`);
    expect(await listAll(2)).toEqual(['tuning_10', 'tuning_8', 'job_7', 'job_6']);
  });

  async function listAll(countMax: number): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let after: { createdAt: number; id: string } | null | undefined; after !== null; ) {
      const page = await listSubmitted(ports, { countMax, ...(after === undefined ? {} : { after }) });
      expect(page.items.length).toBeLessThanOrEqual(countMax);
      ids.push(...page.items.map((item) => ('tuningId' in item ? item.tuningId : item.jobId)));
      after = page.next;
    }
    return ids;
  }
});
