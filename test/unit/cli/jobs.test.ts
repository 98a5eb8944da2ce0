import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Output } from '../../../cli/core/command.ts';
import type { Report } from '../../../shared/protocol/report.ts';
import {
  replicaOf,
  runCli,
  startTestCloud,
  type TestCloud,
  trialOf,
  tuningOf,
  viewOf,
} from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir });

async function putReport(report: Partial<Report>, name = 'one/job.json'): Promise<void> {
  const complete = {
    source: 'gs://uploads/one/job.json',
    jobId: 'one',
    problems: [],
    warnings: [],
    job: null,
    ...report,
  };
  const object = { bucket: 'uploads', name: `${name}.report.json` };
  await cloud.store.write(object, Buffer.from(JSON.stringify(complete)));
}

const FAILED = viewOf('broken', {
  state: 'FAILED',
  cause: {
    code: 'MODULE_NOT_FOUND',
    class: 'user',
    message: "The module 'torch' is not installed.",
    remedy: 'Add it to install_requires.',
    evidence: ['Traceback (most recent call last):', "ModuleNotFoundError: No module named 'torch'"],
    label: 'import_error',
    canRetryHelp: false,
    rootLine: "ModuleNotFoundError: No module named 'torch'",
    link: 'docs/diagnosis.md#import_error',
  },
});

describe('dropforge jobs list', () => {
  it('prints a line per job, or how to submit the first one', async () => {
    expect((await cli('jobs', 'list')).stdout).toContain('There are no jobs yet');
    cloud.jobs.set('one', [viewOf('one')]);
    cloud.jobs.set('broken', [FAILED]);
    const lines = (await cli('jobs', 'list')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/\s{2,}/))).toEqual([
      ['JOB', 'STATE', 'GPU', 'PROGRESS', 'METRIC', 'COST', 'CREATED', 'DURATION', 'ATTEMPT', 'CAUSE'],
      ['one', 'SUCCEEDED', '-', '-', '-', '$0.0016', expect.stringMatching(/ago|just now/), '1 min', '1'],
      [
        'broken',
        'FAILED',
        '-',
        '-',
        '-',
        '$0.0016',
        expect.stringMatching(/ago|just now/),
        '1 min',
        '1',
        'MODULE_NOT_FOUND',
      ],
    ]);
    expect((await cli('jobs', 'list', '--format=json')).json()).toEqual([[viewOf('one'), FAILED]]);
  });

  it('shows GPUs, progress, the metric that matters and the price', async () => {
    const machine = { machineType: 'n1-standard-8', accelerator: '2 x NVIDIA_TESLA_T4' };
    const machines = [
      { role: 'master', count: 1, ...machine },
      { role: 'worker', count: 3, ...machine },
    ];
    cloud.jobs.set('one', [viewOf('one', { state: 'RUNNING', machines, replicas: [replicaOf()] })]);
    const best = trialOf('2', { objective: 0.983 });
    cloud.jobs.set('search', [viewOf('search', { tuning: tuningOf({ endedTrialCount: 12, best }) })]);
    const [, ...rows] = (await cli('jobs', 'list')).stdout.trimEnd().split('\n');
    expect(rows.map((row) => row.split(/\s{2,}/).slice(0, 6))).toEqual([
      ['one', 'RUNNING', '8 × T4', '12 / 30', 'loss 0.1203', '$0.0016'],
      ['search', 'SUCCEEDED', '-', '12 of 40 trials', 'best accuracy 0.983', '$0.0016'],
    ]);
  });

  it.each([
    [80, ['JOB', 'STATE', 'GPU', 'PROGRESS', 'METRIC', 'COST', 'CAUSE']],
    [120, ['JOB', 'STATE', 'GPU', 'PROGRESS', 'METRIC', 'COST', 'CREATED', 'DURATION', 'ATTEMPT', 'CAUSE']],
    [40, ['JOB', 'STATE', 'COST', 'CAUSE']],
  ])('leaves out columns that do not fit in the %d of a terminal', async (columns, head) => {
    cloud.jobs.set('broken_2026', [{ ...FAILED, jobId: 'broken_2026', replicas: [replicaOf()] }]);
    let written = '';
    const stdout: Output = {
      write: (data) => {
        written += data;
      },
      terminal: Object.assign(Object.create(process.stdout), { columns }),
      hasColors: false,
    };
    await runCli(['jobs', 'list'], { dataDir: cloud.dataDir, stdout });
    const lines = written.trimEnd().split('\n');
    expect(lines[0]?.split(/\s{2,}/)).toEqual(head);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(Math.max(columns, 50));
  });

  it('sorts all jobs by a column or a field, and filters by either', async () => {
    const jobs = [
      ['a', 2],
      ['b', 10],
      ['c', null],
      ['d', 1],
    ] as const;
    for (const [jobId, totalUsd] of jobs) {
      const price = { ...viewOf(jobId).price, totalUsd };
      cloud.jobs.set(jobId, [viewOf(jobId, { price, labels: jobId === 'b' ? { team: 'vision' } : {} })]);
    }
    const idsBy = async (...flags: string[]) =>
      (await cli('jobs', 'list', '--format=value(jobId)', ...flags)).stdout.trimEnd().split('\n');
    expect(await idsBy('--sort-by=cost')).toEqual(['d', 'a', 'b', 'c']);
    expect(await idsBy('--sort-by=~cost', '--limit=2')).toEqual(['b', 'a']);
    expect(await idsBy('--sort-by=~jobId')).toEqual(['d', 'c', 'b', 'a']);
    expect(await idsBy('--sort-by=price.totalUsd', '--filter=job!=a')).toEqual(['d', 'b', 'c']);
    expect(await idsBy('--filter=labels.team:*')).toEqual(['b']);
    expect(await idsBy('--filter', 'state = succeeded AND cost:10')).toEqual(['b']);
  });

  it('says of a failed job until when its VM is kept and billed, and nothing once the VM is released', async () => {
    const times = { sinceTime: '2026-01-01T00:00:00Z', untilTime: '2026-01-01T14:30:00Z', releaseTime: null };
    const kept = { ...{ replica: 'master-0', vmName: 'vm-1', zone: 'us-central1-a', perHourUsd: 0.19 }, ...times };
    cloud.jobs.set('kept', [{ ...FAILED, jobId: 'kept', kept }]);
    cloud.jobs.set('released', [{ ...FAILED, jobId: 'released', kept: { ...kept, releaseTime: times.untilTime } }]);
    const { stdout } = await cli('jobs', 'list');
    expect(stdout).toMatch(/^kept .* MODULE_NOT_FOUND, VM kept until \d\d:\d\d$/m);
    expect(stdout).toMatch(/^released .* MODULE_NOT_FOUND$/m);
  });

  it('fetches as many pages as needed, and reports if there are more jobs', async () => {
    const jobIds = Array.from({ length: 250 }, (_, index) => `job_${index}`);
    for (const jobId of jobIds) {
      cloud.jobs.set(jobId, [viewOf(jobId)]);
    }
    const listed = async (...argv: string[]) => {
      const result = await cli('jobs', 'list', '--format=json', ...argv);
      const [jobs] = result.json() as [{ jobId: string }[]];
      return { jobIds: jobs.map(({ jobId }) => jobId), stderr: result.stderr };
    };
    expect(await listed('--limit', '230')).toEqual({
      jobIds: jobIds.slice(0, 230),
      stderr: 'There are more jobs: use --limit 1150 to list more.\n',
    });
    expect(await listed('--limit', '250')).toEqual({ jobIds, stderr: '' });
    expect((await listed()).jobIds).toEqual(jobIds.slice(0, 20));
  });
});

describe('dropforge jobs describe', () => {
  it('shows the pinned image of each group, once if they are the same', async () => {
    const image = { requested: 'digits:1', sizeBytes: 50_331_648, platform: 'linux/amd64' };
    const master = { ...image, role: 'master', digest: `sha256:${'a'.repeat(64)}` };
    cloud.jobs.set('one', [viewOf('one', { images: [master, { ...master, role: 'worker' }] })]);
    const other = { ...master, role: 'worker', digest: `sha256:${'b'.repeat(64)}`, platform: null };
    cloud.jobs.set('two', [viewOf('two', { images: [master, other] })]);
    const ofMaster = 'digits:1 is sha256:aaaaaaaaaaaa, 48 MiB compressed, linux/amd64';
    const imageOf = async (jobId: string) =>
      (await cli('jobs', 'describe', jobId)).stdout.split('\n').find((line) => line.startsWith('  image'));
    expect(await imageOf('one')).toBe(`  image       ${ofMaster}`);
    expect(await imageOf('two')).toBe(
      `  image       ${ofMaster} (master); digits:1 is sha256:bbbbbbbbbbbb, 48 MiB compressed (worker)`,
    );
  });

  it('shows the commit of the folder that was packed', async () => {
    const git = { commit: '0a'.repeat(20), remote: 'https://github.com/ada/digits.git', isDirty: true };
    cloud.jobs.set('one', [viewOf('one', { git })]);
    expect((await cli('jobs', 'describe', 'one')).stdout).toContain(
      `  commit      ${git.commit}, with changes, of https://github.com/ada/digits.git\n`,
    );
  });

  it('prints the history of a job with the times between', async () => {
    const entry = { attempt: 1, placementRound: 1, zone: null, cause: null, by: null, since: null };
    const at = (second: number) => ({ ...entry, at: Date.UTC(2026, 0, 1, 0, 0, second) });
    cloud.history.push(
      { ...at(0), event: 'SUBMITTED', from: null, to: 'QUEUED', by: 'ada@example.com' },
      { ...at(2), event: 'PLACEMENT_CHOSEN', from: 'QUEUED', to: 'PREPARING', zone: 'us-central1-a' },
      { ...at(50), event: 'ATTEMPT_INTERRUPTED', from: 'PREPARING', to: 'QUEUED', cause: 'PREEMPTED' },
    );
    cloud.jobs.set('one', [viewOf('one')]);
    const { stdout } = await cli('jobs', 'describe', 'one');
    const history = stdout.slice(stdout.indexOf('History')).replaceAll(/ {2,}/g, '  ').split('\n');
    expect(history).toEqual([
      'History',
      '  TIME  AFTER  STATE  EVENT  ATTEMPT  DETAILS',
      '  2026-01-01 00:00:00 UTC  QUEUED  SUBMITTED  1  by ada@example.com',
      '  2026-01-01 00:00:02 UTC  +2 s  QUEUED → PREPARING  PLACEMENT_CHOSEN  1  us-central1-a',
      '  2026-01-01 00:00:50 UTC  +48 s  PREPARING → QUEUED  ATTEMPT_INTERRUPTED  1  PREEMPTED',
      '',
    ]);
    const described = (await cli('--format=json', 'jobs', 'describe', 'one')).json();
    expect(described).toMatchObject([{ jobId: 'one', history: cloud.history }]);
  });

  it('prints the cause of a failure with evidence and remedy', async () => {
    cloud.jobs.set('broken', [FAILED]);
    const { code, stdout } = await cli('jobs', 'describe', 'broken');
    expect(code).toBe(0);
    expect(stdout).toContain('broken  FAILED');
    expect(stdout).toContain("MODULE_NOT_FOUND: The module 'torch' is not installed.");
    expect(stdout).toContain(
      [
        '  import_error: a retry cannot help. A module or a shared library that the program imports is missing or does not fit.',
        `    ${cloud.endpoints.api}/diagnosis/import_error`,
      ].join('\n'),
    );
    expect(stdout).not.toContain('docs/');
    expect(stdout).toContain("  > ModuleNotFoundError: No module named 'torch'");
    expect(stdout).toContain(
      "  → Add it to install_requires.\n  | Traceback (most recent call last):\n  > ModuleNotFoundError: No module named 'torch'",
    );
    expect(stdout).toContain('(2026-11-21 06:01:05 UTC)');
    expect(stdout).toContain(
      '$0.0016 on Google Cloud: 30 s of VM time at $0.19 per hour (list prices as of 2026-08-01)',
    );
  });

  it('prints attempts and replicas with phase, progress and metrics', async () => {
    const attempts = [
      {
        attempt: 1,
        zone: 'us-central1-b',
        startTime: null,
        endTime: '2026-11-21T06:00:20.000Z',
        cause: 'STOCKOUT',
        message: 'No capacity.',
      },
    ];
    cloud.jobs.set('one', [
      viewOf('one', { state: 'RUNNING', endTime: null, attempt: 2, attempts, replicas: [replicaOf()] }),
    ]);
    const { stdout } = await cli('jobs', 'describe', 'one');
    expect(stdout).toMatch(/^ {2}1\s+us-central1-b\s+not started\s.*STOCKOUT: No capacity\.$/m);
    expect(stdout).toMatch(
      /^ {2}master-0\s+vm-1\s+RUNNING\s.*step 12 of 30, loss 0\.1203, accuracy 0\.9611\s+CPU 97 %, memory 64 MiB\s+-$/m,
    );
  });

  it.each([
    ['STOCKOUT', 'No action needed: all zones are retried'],
    ['QUOTA_EXCEEDED', 'Request a higher limit for the named quota'],
  ])('prints the remedy for a job that waits because of %s', async (code, remedy) => {
    cloud.jobs.set('one', [viewOf('one', { state: 'QUEUED', waitingFor: { code, message: 'None left.' } })]);
    expect((await cli('jobs', 'describe', 'one')).stdout).toContain(
      `  waiting for ${code}: None left.\n    → ${remedy}`,
    );
  });

  it('prints a dash for values that were not reported', async () => {
    const unreported = { cpuFraction: null, memoryBytes: null, step: null, stepsMax: null, metrics: {} };
    cloud.jobs.set('one', [viewOf('one', { replicas: [replicaOf({ phase: 'BOOTING', ...unreported })] })]);
    expect((await cli('jobs', 'describe', 'one')).stdout).toMatch(
      /^ {2}master-0\s+vm-1\s+BOOTING\s+0\s+-\s.*ago\s+-\s+-\s+-$/m,
    );
  });

  it('prints a row for each replica, with its restarts, its exit code and its own cause', async () => {
    const cause = { code: 'PROGRAM_FAILED', message: 'RuntimeError: connection closed by peer' };
    const worker = replicaOf({
      replica: 'worker-10',
      vmName: 'vm-11',
      phase: 'EXITED',
      restarts: 2,
      exitCode: 1,
      cause,
    });
    cloud.jobs.set('one', [viewOf('one', { replicas: [replicaOf(), worker] })]);
    const { stdout } = await cli('jobs', 'describe', 'one');
    expect(stdout).toMatch(/REPLICA\s+VM\s+PHASE\s+RESTARTS\s+EXIT\s+HEARTBEAT\s+PROGRESS\s+USAGE\s+CAUSE/);
    expect(stdout).toMatch(
      /^ {2}worker-10\s+vm-11\s+EXITED\s+2\s+1\s.*PROGRAM_FAILED: RuntimeError: connection closed/m,
    );
  });

  it('prints the warnings of the run, as do list, wait and stream-logs', async () => {
    const warnings = [{ code: 'METRIC_NOT_FINITE', message: 'Metric loss became NaN.', remedy: 'Check the data.' }];
    cloud.jobs.set('one', [viewOf('one', { warnings, replicas: [replicaOf({ metrics: { loss: 'NaN' } })] })]);
    const described = (await cli('jobs', 'describe', 'one')).stdout;
    expect(described).toContain('warning: METRIC_NOT_FINITE: Metric loss became NaN.\n    → Check the data.');
    expect(described).toContain('loss NaN');
    expect((await cli('jobs', 'list')).stdout).toContain('warning: METRIC_NOT_FINITE');
    expect((await cli('jobs', 'wait', 'one')).stdout).toContain('METRIC_NOT_FINITE');
    expect((await cli('jobs', 'stream-logs', 'one')).stderr).toContain('METRIC_NOT_FINITE');
    expect((await cli('--format=json', 'jobs', 'describe', 'one')).json()).toMatchObject([{ warnings }]);
  });

  it('prints until when the VM of the failed program is kept, as do wait and stream-logs', async () => {
    const times = { sinceTime: '2026-01-01T00:00:00Z', untilTime: '2026-01-01T00:30:00Z', releaseTime: null };
    const kept = { ...{ replica: 'master-0', vmName: 'vm-1', zone: 'us-central1-a', perHourUsd: 0.19 }, ...times };
    cloud.jobs.set('one', [viewOf('one', { state: 'FAILED', kept })]);
    const lines =
      /VM vm-1 \(master-0\) is kept until \d\d:\d\d \(0 s left\), \$0\.19\/h\n +→ Look at it: .* exec one\n +→ End it: .* release one/;
    expect((await cli('jobs', 'describe', 'one')).stdout).toMatch(lines);
    expect((await cli('jobs', 'wait', 'one')).stdout).toMatch(lines);
    expect((await cli('jobs', 'stream-logs', 'one')).stderr).toMatch(lines);
  });

  it('prints what was noticed about the training, what lasts first and with its evidence', async () => {
    const finding = {
      replica: 'master-0',
      remedy: 'Use it.',
      evidence: ['GPU 0: T4, idle'],
      sinceTime: '2026-01-01T00:00:00Z',
    };
    const over = { ...finding, code: 'PLATEAU', message: 'It is flat.', untilTime: '2026-01-01T00:00:00Z' };
    const lasting = { ...finding, code: 'GPU_IDLE', message: 'The GPU is idle.', untilTime: null };
    cloud.jobs.set('one', [viewOf('one', { health: [over, lasting] })]);
    expect((await cli('jobs', 'describe', 'one')).stdout).toMatch(
      /Health\n {2}GPU_IDLE \(master-0, began .* ago\): The GPU is idle\.\n {4}→ Use it\.\n {4}\| GPU 0: T4, idle\n {2}PLATEAU \(master-0, ended .* ago\): It is flat\./,
    );
  });

  it('prints the warnings of intake, from the report', async () => {
    cloud.jobs.set('one', [viewOf('one')]);
    expect((await cli('jobs', 'describe', 'one')).stdout).not.toContain('warning');
    const warnings = [{ code: 'DEFAULT_REGION', message: 'No region is given.', remedy: 'Write one.' }];
    await putReport({ verdict: 'ACCEPTED', warnings });
    expect((await cli('jobs', 'describe', 'one')).stdout).toContain(
      'warning: DEFAULT_REGION: No region is given.\n    → Write one.',
    );
    expect((await cli('jobs', 'describe', 'one', '--format=json')).json()).toMatchObject([
      { ...viewOf('one'), warnings },
    ]);
  });

  it('prints why a submission was rejected, which did not create a job', async () => {
    const problems = [{ code: 'UNKNOWN_REGION', message: 'There is no region "mars".', remedy: 'Choose another.' }];
    await putReport({ verdict: 'REFUSED', problems }, 'one/job.yaml');
    const { code, stdout, stderr } = await cli('jobs', 'describe', 'one');
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toContain('one was REFUSED:\n  - UNKNOWN_REGION: There is no region "mars".');
  });

  it('prints the server’s message for a job that does not exist', async () => {
    const { code, stderr } = await cli('jobs', 'describe', 'none');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^error: There is no such job. List the jobs to see their ids.\n/),
    ]);
  });
});

describe('dropforge jobs wait', () => {
  it.each([
    ['SUCCEEDED', 0],
    ['FAILED', 1],
    ['CANCELLED', 1],
  ])('waits until the job is %s and exits with %i', async (state, code) => {
    cloud.jobs.set('one', [
      viewOf('one', { state: 'QUEUED' }),
      viewOf('one', { state: 'RUNNING' }),
      viewOf('one', { state }),
    ]);
    expect(await cli('jobs', 'wait', 'one')).toMatchObject({ code, stdout: `one  ${state}\n` });
    expect(cloud.requests.filter((request) => request === 'GET /v1/jobs/one')).toHaveLength(3);
  });

  it.each(['wait', 'stream-logs'])('%s can be interrupted without affecting the job', async (command) => {
    cloud.jobs.set('one', [viewOf('one', { state: 'RUNNING' })]);
    const interruption = new AbortController();
    cloud.onAnswer = () => interruption.abort();
    const io = { dataDir: cloud.dataDir, interrupted: interruption.signal };
    expect(await runCli(['jobs', command, 'one'], io)).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        'Interrupted. Job one is still running: to follow it, run `npx dropforge logs one`; to cancel it, `npx dropforge jobs cancel one`.\n',
    });
    expect(cloud.requests.filter((request) => request.startsWith('POST'))).toEqual([]);
  });
});
