import { afterAll, describe, expect, it } from 'vitest';
import { BUCKET, JOB_DIR } from '../support/agent/vm-agent-cloud.ts';
import { startContainerMachineForEachTest } from '../support/containers/container-machine.ts';
import { type EngineUnderTest, startEngineUnderTest } from '../support/containers/engine-under-test.ts';
import type { ImageOptions } from '../support/containers/test-image.ts';

const engine = await startEngineUnderTest();
if (engine === null) {
  it('is not tested, as this machine has no container engine', () => {});
} else {
  describe('a hostile image', () => suite(engine));
}

type Case = {
  readonly what: string;
  readonly image?: ImageOptions;
  readonly script?: string;
  readonly argv?: readonly string[];
  readonly user?: string;
  readonly workingDir?: string;
  readonly maxRunningSeconds?: number;
  /** Name of an output that is saved. */
  readonly saved?: string;
  readonly end: object;
};

const SUCCESS = { reason: 'EXITED', exitCode: 0, signal: null };
const notStarted = (message: RegExp) => ({
  reason: 'CONTAINER_NOT_STARTED',
  message: expect.stringMatching(message),
});
const STOPPED = { reason: 'MAX_RUNNING_TIME', signal: 9 };

const CASES: readonly Case[] = [
  { what: 'its whole file system as a volume', image: { changes: ['VOLUME /'] }, end: notStarted(/Remove VOLUME \//) },
  {
    what: 'a health check that kills, a build trigger, a port, and labels of Dropforge',
    image: {
      config: {
        Healthcheck: { Test: ['CMD-SHELL', 'kill -9 -1'], Interval: 500_000_000, Retries: 1 },
        OnBuild: ['RUN false'],
        ExposedPorts: { '22/tcp': {}, 'http/none': {} },
        Labels: { 'dropforge.vm': 'another', 'a\nb': 'c\nd' },
      },
    },
    script: 'sleep 2',
    end: SUCCESS,
  },
  {
    what: 'a stop signal that does not exist',
    image: { config: { StopSignal: 'SIGNONE' } },
    script: 'trap "exit 5" TERM; while :; do sleep 0.1; done',
    maxRunningSeconds: 2,
    end: { reason: 'MAX_RUNNING_TIME', exitCode: 5 },
  },
  {
    what: 'variables that are longer than Linux accepts',
    image: { config: { Env: [`LONG=${'x'.repeat(200_000)}`] } },
    end: notStarted(/are longer than Linux accepts/),
  },
  {
    what: 'a variable without a name',
    image: { config: { Env: ['=x'] } },
    end: notStarted(/a variable without a name/),
  },
  {
    what: 'variables of the engine, without a value, and of several lines',
    image: {
      config: { Env: ['NONE', 'A B=c', 'LD_PRELOAD=/none', 'DOCKER_HOST=unix:///x', 'TEXT=a\nb', 'PATH=/bin'] },
    },
    script: '[ "$DOCKER_HOST $TEXT" = "$(printf "unix:///x a\\nb")" ]',
    end: SUCCESS,
  },
  { what: '10,000 arguments', argv: ['sh', '-c', '[ $# = 9999 ]', ...Array<string>(10_000).fill('x')], end: SUCCESS },
  { what: 'a user that it does not have', image: { changes: ['USER none'] }, user: 'none', end: notStarted(/no user/) },
  {
    what: 'a file as its folder',
    image: { changes: ['WORKDIR /etc/passwd'] },
    workingDir: '/etc/passwd',
    end: notStarted(/a file or a link where its container needs a folder: its WORKDIR/),
  },
  {
    what: 'a link to the folders of Dropforge as its folder',
    image: { links: { '/app': '/dropforge' }, changes: ['WORKDIR /app'] },
    workingDir: '/app',
    script: 'echo x > output/file',
    saved: 'file',
    end: SUCCESS,
  },
  {
    what: 'links in the place of mounts',
    image: { links: { '/dropforge/output': '/etc', '/gcs': '/proc', '/dropforge/metrics': '/nowhere' } },
    end: notStarted(/a folder of Dropforge/),
  },
  {
    what: 'a list of users that is a link',
    image: { links: { '/etc/passwd': '/proc/self/mem', '/etc/group': '/dev/zero' }, changes: ['USER trainer'] },
    user: 'trainer',
    end: notStarted(/no user/),
  },
  {
    what: 'a volume in the place of the outputs',
    image: { changes: ['VOLUME /dropforge/output /gcs'] },
    script: 'echo x > $DROPFORGE_OUTPUT_DIR/file',
    saved: 'file',
    end: SUCCESS,
  },
  {
    what: 'no folder for temporary files',
    image: { links: { '/tmp': '/nowhere', '/var/tmp': '/nowhere' } },
    end: SUCCESS,
  },
  { what: 'a program that closes its output', script: 'exec >&- 2>&-; sleep 2; exit 3', end: { exitCode: 3 } },
  {
    what: 'a program that prints 200 MB in one line',
    script: 'head -c 200000000 /dev/zero | tr "\\0" x',
    end: SUCCESS,
  },
  { what: 'a program that freezes itself', script: 'kill -STOP $$', maxRunningSeconds: 2, end: STOPPED },
  { what: 'a program that kills all of its processes', script: 'sleep 9 & kill -9 -1', end: SUCCESS },
  {
    what: 'pipes in the place of its metrics',
    script:
      'cd /dropforge/metrics; rm -rf *; for f in metrics.jsonl $DROPFORGE_METRICS_FILE stack_dumps; do mkfifo $f; done; sleep 2',
    end: SUCCESS,
  },
  {
    what: 'outputs that are no files, and 2,000 that are',
    script: [
      'cd $DROPFORGE_OUTPUT_DIR; mkfifo fifo; mknod device c 1 5; ln -s /etc/passwd link; ln -s . loop',
      'echo x > file; ln file hard; : > "$(printf "a\\nb")"; : > "$(printf "\\377")"',
      'mkdir many; i=0; while [ $i -lt 2000 ]; do : > many/$i; i=$((i+1)); done; exit 0',
    ].join('\n'),
    saved: 'file',
    end: SUCCESS,
  },
  {
    what: 'folders that only its user may read',
    script: 'cd $DROPFORGE_OUTPUT_DIR; mkdir closed; echo x > closed/file; chmod 0 closed/file closed .',
    saved: 'file',
    end: SUCCESS,
  },
];

function suite(engine: EngineUnderTest) {
  const under = startContainerMachineForEachTest(engine);
  const { cloud, ended } = under;

  afterAll(async () => {
    await under.stop();
    await engine.stop();
  });

  it.each(CASES)('ends with a clear cause, and nothing is left: $what', async (given) => {
    const { what, image, script = 'exit 0', argv = ['sh', '-c', script], user = '', workingDir = '', end } = given;
    const { maxRunningSeconds = 60, saved } = given;
    const name = what.replaceAll(/\W+/g, '-').toLowerCase();
    const vm = under.boot({
      image: await under.image(name, 'shell', image),
      argv,
      user,
      workingDir,
      change: ({ limits, spec }) => ({
        limits: { ...limits, maxRunningSeconds, stopGraceSeconds: 1 },
        spec: { ...spec, passesJobDir: false },
      }),
    });
    const report = await ended(vm);
    expect(report).toMatchObject(end);
    expect(await under.list()).toEqual([]);
    if (saved !== undefined) {
      const names = [...cloud().objects.keys()].filter((name) => name.endsWith(`/${saved}`));
      expect(names[0]).toContain(`${BUCKET}/${JOB_DIR}/`);
    }
  });
}
