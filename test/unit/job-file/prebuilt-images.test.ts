import { describe, expect, it } from 'vitest';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import { CONTEXT } from '../../support/job-file/context.ts';

const SPEC = '{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, ';

function check(text: string) {
  const { draft } = readJobFile(text, { fileName: 'job.yaml' });
  if (draft === null) {
    throw new Error('The file has no job.');
  }
  const uploaded = { packageUris: ['gs://uploads/a.tar.gz'], pythonModule: 'found.task' };
  return checkJob(draft, { ...CONTEXT, defaults: { ...CONTEXT.defaults, ...uploaded } });
}

describe('a prebuilt training image without a command', () => {
  it.each([
    ['gcr.io/cloud-ml-public/training/pytorch-cpu.1-4', 'pytorch-1.4'],
    ['gcr.io/cloud-aiplatform/training/tf-gpu.2-8:latest', '2.8'],
    ['us-docker.pkg.dev/vertex-ai/training/xgboost-cpu.1-1:latest', 'xgboost-1.1'],
  ])('%s as masterConfig.imageUri selects the runtime of the Python program', (imageUri, runtimeVersion) => {
    const { spec, problems, unsupported } = check(
      `jobId: j\ntrainingInput: {scaleTier: CUSTOM, masterType: n1-standard-4, masterConfig: {imageUri: "${imageUri}"}, ` +
        'workerType: n1-standard-4, workerCount: 2, ' +
        `workerConfig: {imageUri: "${imageUri}"}, packageUris: [gs://bucket/p.tar.gz], pythonModule: a.b, args: [-x]}`,
    );
    expect({ problems, unsupported }).toEqual({ problems: [], unsupported: [] });
    expect(spec).toMatchObject({ runtimeVersion, program: { kind: 'PYTHON', module: 'a.b', args: ['-x'] } });
    expect(spec?.replicaGroups.map(({ program }) => program)).toEqual([null, null]);
  });

  it('starts the package that its arguments name', () => {
    const args = [
      '--module_name=trainer.task',
      '--package_uris=gs://packages/a.tar.gz,gs://packages/c.tar.gz',
      '--epochs=1',
    ];
    const image = 'masterConfig: {imageUri: gcr.io/cloud-ml-public/training/pytorch-cpu.1-4}';
    const { spec, problems } = check(
      `jobId: j\ntrainingInput: {scaleTier: BASIC, ${image}, args: ${JSON.stringify(args)}}`,
    );
    expect(problems).toEqual([]);
    expect(spec?.program).toMatchObject({
      kind: 'PYTHON',
      module: 'trainer.task',
      packageUris: ['gs://packages/a.tar.gz', 'gs://packages/c.tar.gz'],
      args: ['--epochs=1'],
    });
  });

  it('as containerSpec.imageUri runs the uploaded package, in every pool', () => {
    const container = 'containerSpec: {imageUri: us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest, args: [-x]}}';
    const { spec, problems } = check(
      `displayName: j\njobSpec: {workerPoolSpecs: [${SPEC}${container}, ${SPEC}${container}]}`,
    );
    expect(problems.map(({ code, path }) => `${code} ${path}`)).toEqual([]);
    expect(spec?.program).toMatchObject({ kind: 'PYTHON', module: 'found.task', args: ['-x'] });
    expect(spec?.replicaGroups.map(({ program }) => program)).toEqual([null, null]);
    expect(spec?.runtimeVersion).toBe('2.11');
  });
});

it.each([
  'masterConfig: {imageUri: gcr.io/cloud-ml-algos/boosted_trees:latest}',
  'masterConfig: {imageUri: us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest, containerCommand: [bash]}',
  'masterConfig: {imageUri: gcr.io/my-project/trainer}',
])('a container with a program of its own remains one: %s', (config) => {
  const { spec } = check(`jobId: j\ntrainingInput: {scaleTier: CUSTOM, masterType: n1-standard-4, ${config}}`);
  expect(spec?.program.kind).toBe('CONTAINER');
});
