import { afterAll, describe, expect, it } from 'vitest';
import { BUCKET, JOB_DIR } from '../support/agent/vm-agent-cloud.ts';
import { startContainerMachineForEachTest } from '../support/containers/container-machine.ts';
import { type EngineUnderTest, startEngineUnderTest } from '../support/containers/engine-under-test.ts';

const engine = await startEngineUnderTest();

if (engine === null) {
  it('is not tested, as this machine has no container engine', () => {});
} else {
  describe(`a program in a container of ${engine.kind}`, () => suite(engine));
}

function suite(engine: EngineUnderTest) {
  const under = startContainerMachineForEachTest(engine);
  const { cloud, ended } = under;

  afterAll(async () => {
    await under.stop();
    await engine.stop();
  });

  const shell = () => under.image('shell', 'shell', { changes: ['WORKDIR /app'] });
  const saved = (name: string) => cloud().objects.get(`${BUCKET}/${JOB_DIR}/${name}`)?.body.toString();
  const logged = (stream: string) =>
    cloud()
      .logEntries.filter((entry) => entry.labels.stream === stream)
      .map((entry) => entry.textPayload);

  it('saves its output, reports metrics, and knows its job, replica and folders', async () => {
    const script = `
printf '{"step": 3, "loss": 0.25}\\n' >> "$DROPFORGE_METRICS_FILE"
env > "$DROPFORGE_OUTPUT_DIR/environment"
pwd > /gcs/jobs/digits/folder
echo "$@" > gs:/jobs/digits/arguments
hostname > "$AIP_TENSORBOARD_LOG_DIR/../hostname"
echo out; echo err >&2
`;
    const report = await ended(
      under.boot({
        image: await shell(),
        argv: [
          'sh',
          '-ec',
          script.replace('hostname > ', 'mkdir -p "$AIP_TENSORBOARD_LOG_DIR"; hostname > '),
          'name',
          'a b',
        ],
        workingDir: '/app',
        change: ({ program }) => ({
          program: { ...program, environment: { LINES: 'one\ntwo', HOME: '/nowhere', REF: '$(CLOUD_ML_JOB_ID)!' } },
        }),
      }),
    );
    expect(report).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    const environment = saved('environment') ?? '';
    expect(environment).toContain('LINES=one\ntwo\n');
    expect(environment).toContain('HOME=/nowhere\n');
    expect(environment).toContain('REF=digits_1!\n');
    expect(environment).toContain('DROPFORGE_OUTPUT_DIR=/dropforge/output\n');
    expect(environment).toContain('CLUSTER_SPEC={"cluster": {"chief": ["df-digits-a1-master-0:2222"]}');
    expect(environment).not.toContain('DROPFORGE_HOME');
    expect(saved('folder')).toBe('/app\n');
    expect(saved('arguments')).toBe('a b --job-dir=gs://jobs/digits\n');
    expect(logged('stdout')).toContain('out');
    expect(logged('stderr')).toContain('err');
    expect(cloud().heartbeats.at(-1)?.progress).toMatchObject({ step: 3, metrics: { loss: 0.25 } });
    expect(await under.list()).toEqual([]);
  });

  it('ends with its own exit code, also with one that an engine uses, and leaves no daemon', async () => {
    const argv = ['sh', '-c', '(sleep 600 & ) ; setsid sleep 600 & echo broken >&2; exit 126'];
    const report = await ended(under.boot({ image: await shell(), argv }));
    expect(report).toMatchObject({ reason: 'EXITED', exitCode: 126, signal: null });
    expect(report.evidence.at(-1)).toBe('broken');
    expect(await under.list()).toEqual([]);
  });

  it.each([
    [['train', '--fast'], '`train` was not found in the image'],
    [['sh', '-c', 'train'], 'The image has no shell'],
    [['/data'], 'may not be executed'],
  ])('is not a failed program if it could not be started: %j', async (argv, message) => {
    const image = await under.image('plain', 'no-shell', { files: { '/data/file': '' } });
    const report = await ended(under.boot({ image, argv }));
    expect(report).toMatchObject({ reason: 'CONTAINER_NOT_STARTED', message: expect.stringContaining(message) });
    expect(await under.list()).toEqual([]);
  });

  it('writes its output as a user who is not root', async () => {
    const image = await under.image('user', 'shell', { changes: ['USER trainer'] });
    const script =
      'id -u > "$DROPFORGE_OUTPUT_DIR/user"; mkdir "$DROPFORGE_OUTPUT_DIR/sub"; echo x > "$DROPFORGE_OUTPUT_DIR/sub/f"; echo "{\\"loss\\": 1}" > "$DROPFORGE_METRICS_FILE"';
    expect(await ended(under.boot({ image, argv: ['sh', '-ec', script], user: 'trainer' }))).toMatchObject({
      exitCode: 0,
    });
    expect(saved('user')).toBe('1000\n');
    expect(saved('sub/f')).toBe('x\n');
  });

  it.each([
    ['by SIGTERM, which it does not handle', 'sleep 600', 15],
    ['by SIGKILL, since it ignores SIGTERM', 'trap "" TERM; echo on; while true; do sleep 0.1; done', 9],
  ])('is stopped %s', async (_, script, signal) => {
    const stopping = under.boot({
      image: await shell(),
      argv: ['sh', '-c', script],
      change: ({ limits }) => ({ limits: { ...limits, maxRunningSeconds: 1.5, stopGraceSeconds: 1 } }),
    });
    expect(await ended(stopping)).toMatchObject({ reason: 'MAX_RUNNING_TIME', signal });
    expect(await under.list()).toEqual([]);
  });
}
