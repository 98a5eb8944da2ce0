import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CloudUnderTest,
  jobFile,
  packFiles,
  packProgram,
  startCloudUnderTest,
  until,
} from '../support/e2e/cloud-under-test.ts';
import { findMarkedProcesses } from '../support/e2e/marked-processes.ts';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({
    vmsMax: 2,
    diskBytesMax: 60_000_000,
    logBytesMax: 2_000_000,
    stopGraceSeconds: 1,
  });
});

afterAll(() => cloud.stop());

const CROWD = { scaleTier: 'CUSTOM', masterType: 'n1-standard-4', workerType: 'n1-standard-4', workerCount: 2 };
const GOOD_PROGRAM = 'print("trained")\n';
const job = (jobId: string, trainingInput: object = {}) => JSON.stringify(jobFile(jobId, trainingInput));

const REFUSED: readonly {
  readonly what: string;
  readonly name: string;
  readonly body: () => Promise<string | Uint8Array> | string | Uint8Array;
  readonly code: string;
}[] = [
  {
    what: 'a file that is not a package',
    name: 'none.tar.gz',
    body: () => '<html>404 Not Found</html>',
    code: 'NOT_AN_ARCHIVE',
  },
  {
    what: 'a truncated archive',
    name: 'truncated.tar.gz',
    body: async () => {
      const whole = await packFiles({ 'pkg/setup.py': 'x', 'pkg/data.bin': randomBytes(50_000) });
      return whole.subarray(0, whole.length / 2);
    },
    code: 'ARCHIVE_TRUNCATED',
  },
  {
    what: 'a decompression bomb',
    name: 'bomb.tar.gz',
    body: () => packFiles({ 'pkg/setup.py': 'x', 'pkg/zeros.bin': new Uint8Array(200_000_000) }),
    code: 'ARCHIVE_BOMB',
  },
  {
    what: 'a path traversal',
    name: 'escape.tar.gz',
    body: () => packFiles({ '../../etc/cron.d/x': 'x' }),
    code: 'PATH_ESCAPES',
  },
  {
    what: 'a missing module',
    name: 'nomodule.tar.gz',
    body: () => packProgram(GOOD_PROGRAM, jobFile('nomodule', { pythonModule: 'trainer.tusk' })),
    code: 'MODULE_NOT_FOUND',
  },
  {
    what: 'a job with more replicas than this machine runs',
    name: 'crowd.tar.gz',
    body: () => packProgram(GOOD_PROGRAM, jobFile('crowd', CROWD)),
    code: 'TOO_MANY_REPLICAS',
  },
  {
    what: 'an invalid job id',
    name: 'badid.tar.gz',
    body: () => packProgram(GOOD_PROGRAM, jobFile('2-bad-id')),
    code: 'INVALID_JOB_ID',
  },
  {
    what: 'an unknown machine type',
    name: 'machine/job.json',
    body: () => job('machine', { scaleTier: 'CUSTOM', masterType: 'n1-standart-8', packageUris: ['p.tar.gz'] }),
    code: 'UNKNOWN_MACHINE_TYPE',
  },
  {
    what: 'a job file that is not valid YAML',
    name: 'noyaml/job.yaml',
    body: () => 'trainingInput: [unclosed\n  - x: {',
    code: 'NOT_YAML',
  },
  {
    what: 'a job file of any name that is not valid YAML',
    name: 'noyaml/vision.yml',
    body: () => 'trainingInput: [unclosed\n  - x: {',
    code: 'NOT_YAML',
  },
  {
    what: 'a job file of any name that is not text',
    name: 'notext/vision.yaml',
    body: () => Buffer.from('trainingInput:\n  pythonModule: entra\xeenement.task\n', 'latin1'),
    code: 'NOT_TEXT',
  },
  {
    what: 'a job directory that is not a gs:// path',
    name: 'jobdir/job.json',
    body: () => job('jobdir', { jobDir: '/tmp/out', packageUris: ['p.tar.gz'] }),
    code: 'INVALID_JOB_DIR',
  },
  {
    what: 'a job directory in a bucket that does not exist',
    name: 'nobucket.tar.gz',
    body: () => packProgram(GOOD_PROGRAM, jobFile('nobucket', { jobDir: 'gs://no-such-bucket/out' })),
    code: 'JOB_DIR_BUCKET_MISSING',
  },
  {
    what: 'garbage that claims to be gzip',
    name: 'gzip.tar.gz',
    body: () => gzipSync(randomBytes(10_000)),
    code: 'NOT_AN_ARCHIVE',
  },
];

it.each(REFUSED)(
  '$what is rejected in a report beside the upload: $code, with a remedy',
  async ({ name, body, code }) => {
    await cloud.upload(name, await body());

    const report = await cloud.awaitReport(`${name}.report.json`);

    expect(report.verdict, JSON.stringify(report.problems)).toBe('REFUSED');
    expect(report.problems.map((problem) => problem.code)).toContain(code);
    for (const { message, remedy } of report.problems) {
      expect(message.length).toBeGreaterThan(10);
      expect(remedy.length).toBeGreaterThan(10);
    }
  },
);

const FAILING: readonly {
  readonly what: string;
  readonly program: string;
  readonly code: string;
  readonly evidence?: RegExp;
  readonly trainingInput?: object;
}[] = [
  {
    what: 'a module that raises',
    program: 'raise ValueError("x12 must not be 10")\n',
    code: 'PROGRAM_FAILED',
    evidence: /ValueError: x12 must not be 10/,
  },
  {
    what: 'a module that imports a missing module',
    program: 'import no_such_framework\n',
    code: 'MODULE_NOT_FOUND',
    evidence: /No module named 'no_such_framework'/,
  },
  {
    what: 'a module that is killed',
    program:
      'import os, signal, sys\nprint("last words", file=sys.stderr, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n',
    code: 'PROGRAM_KILLED',
    evidence: /last words/,
  },
  {
    what: 'a module that never exits',
    program: 'import time\nprint("at it", flush=True)\nwhile True: time.sleep(0.1)\n',
    code: 'MAX_RUNNING_TIME_EXCEEDED',
    evidence: /at it/,
    trainingInput: { scheduling: { maxRunningTime: '2s' } },
  },
  {
    what: 'a module that leaves child processes behind and fails',
    program: [
      'import os, subprocess, sys',
      'for detached in (False, True):',
      '    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=detached)',
      'if os.fork() == 0:',
      '    os.setsid()',
      '    import time; time.sleep(600)',
      'sys.exit(3)',
    ].join('\n'),
    code: 'PROGRAM_FAILED',
  },
  {
    what: 'a module that prints a gigabyte without a newline and fails',
    program: [
      'import sys',
      'chunk = "x" * 1_000_000',
      'for _ in range(1_000): sys.stdout.write(chunk)',
      'sys.exit("and then it failed")',
    ].join('\n'),
    code: 'PROGRAM_FAILED',
    evidence: /and then it failed/,
  },
  {
    what: 'a module that fills its disk quota',
    program: [
      'import os, time',
      'with open(os.path.join(os.environ["DROPFORGE_OUTPUT_DIR"], "big.bin"), "wb") as big:',
      '    while True:',
      '        big.write(bytes(1_000_000)); big.flush(); time.sleep(0.01)',
    ].join('\n'),
    code: 'DISK_FULL',
  },
];

it.each(FAILING)(
  '$what ends as FAILED: $code, and its VMs are deleted',
  async ({ what, program, code, evidence, trainingInput }) => {
    const jobId = what.replace(/\W+/g, '_');
    await cloud.upload(`${jobId}.tar.gz`, await packProgram(program, jobFile(jobId, trainingInput)));

    const ended = await cloud.awaitJob(jobId);

    expect(ended).toMatchObject({ state: 'FAILED', cause: { code } });
    expect(ended.cause?.message.length).toBeGreaterThan(10);
    expect(ended.cause?.remedy.length).toBeGreaterThan(10);
    expect(ended.cause?.evidence.join('\n')).toMatch(evidence ?? '');
    expect((await cloud.listVms()).filter((vm) => vm.jobId === jobId)).toEqual([]);
    const report = await cloud.awaitReport(`${jobId}.tar.gz.report.json`, (found) => found.job?.state === 'FAILED');
    expect(report.job?.cause).toEqual(ended.cause);
  },
);

it('the next job is unaffected, and nothing of the others remains', async () => {
  await cloud.upload('next.tar.gz', await packProgram(GOOD_PROGRAM, jobFile('next_job')));

  expect(await cloud.awaitJob('next_job')).toMatchObject({ state: 'SUCCEEDED', attempt: 1 });
  await until('no VM', async () => ((await cloud.listVms()).length === 0 ? true : undefined));
  expect(await findMarkedProcesses(cloud.dataDir)).toEqual([]);
});
