import { getPriority } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CloudUnderTest,
  jobFile,
  packFiles,
  packProgram,
  startCloudUnderTest,
} from '../support/e2e/cloud-under-test.ts';

/** Connects to the others of its cluster at the chief's address, from TF_CONFIG and torch's variables. */
const MEETS_THE_OTHERS = `
import json, os, socket, sys, time
config = json.loads(os.environ['TF_CONFIG'])
host, port = config['cluster']['chief'][0].rsplit(':', 1)
assert (os.environ['MASTER_ADDR'], os.environ['MASTER_PORT']) == (host, port)
rank, world_size = os.environ['RANK'], int(os.environ['WORLD_SIZE'])
if config['task']['type'] == 'chief':
    server = socket.create_server((host, int(port)))
    ranks = [rank]
    while len(ranks) < world_size:
        worker, _ = server.accept()
        ranks.append(worker.recv(16).decode())
    with open(os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'met.json'), 'w') as file:
        json.dump({'ranks': sorted(ranks), 'args': sys.argv[1:], 'team': os.environ.get('TEAM')}, file)
else:
    for _ in range(300):
        try:
            with socket.create_connection((host, int(port))) as chief:
                chief.sendall(rank.encode())
            break
        except OSError:
            time.sleep(0.1)
    else:
        sys.exit('The chief was never there.')
    time.sleep(600)
`;

const CLUSTERS = {
  own: { name: 'own', module: 'trainer.task', args: { epochs: 3, verbose: true }, env: { TEAM: 'vision' }, workers: 2 },
  vertex: {
    displayName: 'vertex',
    jobSpec: {
      workerPoolSpecs: [1, 2].map((replicaCount) => ({
        machineSpec: { machineType: 'n1-standard-4' },
        replicaCount: String(replicaCount),
        pythonPackageSpec: {
          executorImageUri: 'us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest',
          packageUris: ['vertex.tar.gz'],
          pythonModule: 'trainer.task',
          args: ['--epochs=3', '--verbose'],
          env: [{ name: 'TEAM', value: 'vision' }],
        },
      })),
    },
  },
  'ai-platform': {
    jobId: 'aip',
    trainingInput: {
      scaleTier: 'CUSTOM',
      masterType: 'standard',
      workerType: 'complex_model_s',
      workerCount: '2',
      pythonModule: 'trainer.task',
      args: ['--epochs=3', '--verbose'],
      region: 'us-central1',
      jobDir: 'gs://dropforge-local-jobs/aip',
    },
  },
} as const;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { syncMs: 300 }, vmsMax: 4 });
});
afterAll(() => cloud.stop());

it.each([
  { form: 'own', jobId: 'own', team: 'vision', more: [] },
  { form: 'vertex', jobId: 'vertex', team: 'vision', more: [] },
  { form: 'ai-platform', jobId: 'aip', team: null, more: ['--job-dir=gs://dropforge-local-jobs/aip'] },
] as const)(
  'a job in the format $form runs on a master and two workers that connect to each other',
  async ({ form, jobId, team, more }) => {
    await cloud.upload(`${form}.tar.gz`, await packCluster(CLUSTERS[form]));

    const job = await cloud.awaitJob(jobId);

    expect(job).toMatchObject({ state: 'SUCCEEDED', attempt: 1, replicas: [{}, {}, {}] });
    const met = JSON.parse((await cloud.readObject(cloud.endpoints.jobsBucket, `${jobId}/met.json`)) ?? 'null');
    expect(met).toEqual({ ranks: ['0', '1', '2'], args: ['--epochs=3', '--verbose', ...more], team });
    expect(await cloud.listVms()).toEqual([]);
  },
);

it('a program runs with the niceness in its job file', async () => {
  const job = { name: 'polite', module: 'trainer.task', nice: 7 };
  await cloud.upload('polite.tar.gz', await packFiles(sourcesOf(job, 'import os\nprint("niceness", os.nice(0))\n')));

  expect(await cloud.awaitJob('polite')).toMatchObject({ state: 'SUCCEEDED' });
  expect(JSON.stringify(await cloud.readLog('polite'))).toContain(`niceness ${Math.min(19, getPriority() + 7)}`);
});

it('a job that this version does not support is rejected with the field, and nothing is started', async () => {
  const job = {
    jobId: 'on_tpu',
    trainingInput: { scaleTier: 'BASIC_TPU', region: 'us-central1', pythonModule: 'trainer.task' },
  };
  await cloud.upload('tpu.tar.gz', await packCluster(job));

  expect(await cloud.awaitReport('tpu.tar.gz.report.json')).toMatchObject({
    verdict: 'REFUSED',
    problems: [{ code: 'UNSUPPORTED_FIELD', path: 'trainingInput.scaleTier' }],
  });
});

it('a package with an apparent secret gets a warning and runs, and the secret is not disclosed', async () => {
  const secret = 'q7Zx1vB9nM3kL5pR8tW2';
  const files = sourcesOf({ name: 'careless', module: 'trainer.task' }, 'print("trained")\n');
  await cloud.upload('careless.tar.gz', await packFiles({ ...files, 'pkg/.env': `API_TOKEN=${secret}\n` }));

  expect(await cloud.awaitJob('careless')).toMatchObject({ state: 'SUCCEEDED' });
  const report = await cloud.awaitReport('careless.tar.gz.report.json', ({ job }) => job?.state === 'SUCCEEDED');
  expect(report.warnings).toMatchObject([{ code: 'CREDENTIALS_IN_PACKAGE', path: 'pkg/.env' }]);
  const outputs = [report, await cloud.readJob('careless'), await cloud.readLog('careless'), cloud.log];
  expect(JSON.stringify(outputs)).not.toContain(secret);
});

it('a token in place of the name of a secret is rejected, and not disclosed', async () => {
  const token = `hf_${'q7Zx1vB9nM3kL5pR8tW2'.repeat(2).slice(0, 34)}`;
  const job = { name: 'pasted', module: 'trainer.task', secrets: { HF_TOKEN: token } };
  await cloud.upload('pasted.tar.gz', await packFiles(sourcesOf(job, 'print("trained")\n')));

  const report = await cloud.awaitReport('pasted.tar.gz.report.json');
  expect(report).toMatchObject({
    verdict: 'REFUSED',
    problems: [{ code: 'SECRET_IN_JOB_FILE', path: 'secrets.HF_TOKEN' }],
  });
  expect(JSON.stringify(report)).not.toContain(token);
  expect(await cloud.readJob('pasted')).toBeUndefined();
  expect(cloud.log.join('\n')).not.toContain(token);
});

function packCluster(job: object): Promise<Uint8Array> {
  return packFiles(sourcesOf(job, MEETS_THE_OTHERS));
}

function sourcesOf(job: object, program: string) {
  return {
    'pkg/setup.py': "from setuptools import setup\nsetup(name='pkg', version='1', packages=['trainer'])\n",
    'pkg/trainer/__init__.py': '',
    'pkg/trainer/task.py': program,
    'pkg/job.json': JSON.stringify(job),
  };
}

it('a program that does not know --job-dir does not get it, unless the job sets it', async () => {
  const program = 'import argparse\nargparse.ArgumentParser().parse_args()\n';
  for (const [jobId, jobDir] of [
    ['without_argument', {}],
    ['with_argument', { jobDir: `gs://${cloud.endpoints.jobsBucket}/with_argument` }],
  ] as const) {
    await cloud.upload(`${jobId}.tar.gz`, await packProgram(program, jobFile(jobId, jobDir)));
  }

  expect(await cloud.awaitJob('without_argument')).toMatchObject({ state: 'SUCCEEDED' });
  expect(await cloud.awaitJob('with_argument')).toMatchObject({ state: 'FAILED', cause: { code: 'PROGRAM_FAILED' } });
});
