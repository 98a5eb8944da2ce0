import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CloudUnderTest, packFiles, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

/** Written as nanoGPT and others are: relative paths, a checkpoint in `out`, a log in the folder of the program. */
const TRAINER = `
import json, os, sys, time
os.makedirs("out", exist_ok=True)
start = json.load(open("out/ckpt.json"))["step"] if os.path.exists("out/ckpt.json") else 0
print(f"starting at {start}", open("settings.txt").read(), *sys.argv[1:], flush=True)
open("settings.txt", "w").write("changed")
for step in range(start + 1, 41):
    time.sleep(0.1)
    with open("out/ckpt.tmp", "w") as file: json.dump({"step": step}, file)
    os.replace("out/ckpt.tmp", "out/ckpt.json")
    with open("log.txt", "a") as file: file.write(f"step {step}\\n")
    with open(os.environ["DROPFORGE_METRICS_FILE"], "a") as file: file.write(json.dumps({"step": step}) + "\\n")
`;

const FILLER = `
import os, time
os.makedirs("frames")
for number in range(10_001): open(f"frames/{number}", "w").close()
os.makedirs("model")
open("model/weights", "w").write("trained")
time.sleep(600)
`;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { syncMs: 300 }, preemptionNoticeSeconds: 2 });
});

afterAll(() => cloud.stop());

const jobOf = (name: string, fields = '') => `name: ${name}\nmodule: train.py\n${fields}`;

const savedBy = (jobId: string, name: string) =>
  cloud.readObject(cloud.endpoints.jobsBucket, `${jobId}/dropforge-workdir/${name}`);

it('a program that writes relative paths continues where it was, and all that it wrote is in the job directory', async () => {
  const files = {
    'train.py': TRAINER,
    'settings.txt': 'submitted',
    'job.yaml': jobOf('relative', 'resumeArguments: [--init_from=resume]'),
  };
  await cloud.upload('relative.tar.gz', await packFiles(files));
  const running = await cloud.awaitJob('relative', ({ replicas }) => (replicas[0]?.step ?? 0) >= 10);
  await cloud.act(`/vms/${running.replicas[0]?.vmName}:preempt`);

  expect(await cloud.awaitJob('relative')).toMatchObject({ state: 'SUCCEEDED', attempt: 2 });
  const starts = (await cloud.readLog('relative')).map(({ text }) => /^starting at (\d+) (.*)/.exec(text));
  const [first, second] = starts.flatMap((start) => (start === null ? [] : [start]));
  expect([first?.[1], first?.[2], second?.[2]]).toEqual(['0', 'submitted', 'changed --init_from=resume']);
  expect(Number(second?.[1])).toBeGreaterThanOrEqual(9);
  expect(await savedBy('relative', 'out/ckpt.json')).toBe('{"step": 40}');
  expect(await savedBy('relative', 'log.txt')).toMatch(/^step 1\n(step \d+\n)+step 40\n$/);
  expect(await savedBy('relative', 'train.py')).toBeUndefined();
});

it('a folder with too many files is named on the job while the program runs, and the rest is saved', async () => {
  await cloud.upload('filler.tar.gz', await packFiles({ 'train.py': FILLER, 'job.yaml': jobOf('filler') }));
  const running = await cloud.awaitJob('filler', ({ warnings }) =>
    warnings.some(({ code }) => code === 'OUTPUT_LEFT_OUT'),
  );
  expect(running.state).toBe('RUNNING');
  expect(running.warnings).toMatchObject([
    {
      message: expect.stringContaining('frames will not be saved'),
      remedy: expect.stringContaining('outputs: ["frames"]'),
    },
  ]);
  await cloud.cancel('filler');
  await cloud.awaitJob('filler');
  expect(await savedBy('filler', 'model/weights')).toBe('trained');
  expect(await savedBy('filler', 'frames/10000')).toBeUndefined();
});

it('a job file chooses what is saved of the working directory', async () => {
  const program = 'import os\nos.makedirs("out")\nfor name in "out/a.pt", "out/b.txt": open(name, "w").write("x")\n';
  for (const [name, fields] of [
    ['chosen', 'outputs: ["**/*.pt"]'],
    ['none', 'workdirOutputs: false'],
  ] as const) {
    await cloud.upload(`${name}.tar.gz`, await packFiles({ 'train.py': program, 'job.yaml': jobOf(name, fields) }));
    await cloud.awaitJob(name);
  }
  expect(await savedBy('chosen', 'out/a.pt')).toBe('x');
  expect(await savedBy('chosen', 'out/b.txt')).toBeUndefined();
  expect(await savedBy('none', 'out/a.pt')).toBeUndefined();
});

it('a command, a module of Python and a script in a folder of its own run with their relative paths', async () => {
  const program = 'import sys\nopen("out.txt", "w").write(" ".join(sys.argv[1:]))\n';
  for (const [name, fields] of [
    ['commanded', 'command: [sh, -c, "python pkg/train.py $0 --own"]\nargs: [given]'],
    ['moduled', 'module: cProfile\nargs: [pkg/train.py, given, --own]'],
    ['scripted', 'module: pkg/train.py\nworkdir: pkg\nargs: [given, --own]'],
  ] as const) {
    const files = { 'pkg/train.py': program, 'job.yaml': `name: ${name}\n${fields}` };
    await cloud.upload(`${name}.tar.gz`, await packFiles(files));
    expect(await cloud.awaitJob(name)).toMatchObject({ state: 'SUCCEEDED' });
    expect(await savedBy(name, 'out.txt')).toBe('given --own');
  }
});

it('a command that is not there fails the job with its name', async () => {
  const job = 'name: misspelled\ncommand: [torchrunn, train.py]';
  await cloud.upload('misspelled.tar.gz', await packFiles({ 'train.py': 'print(1)', 'job.yaml': job }));
  expect(await cloud.awaitJob('misspelled')).toMatchObject({
    state: 'FAILED',
    cause: { message: expect.stringContaining('torchrunn was not found') },
  });
});
