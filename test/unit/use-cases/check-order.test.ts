import { expect, it } from 'vitest';
import { jobRightsSchema } from '#shared/protocol/job-rights.ts';
import { openApiUnderTest } from '../../support/api/api-under-test.ts';
import { exampleIntake } from '../../support/api/example-intake.ts';
import { packFiles } from '../../support/e2e/cloud-under-test.ts';

const UPLOAD = 'a0b1c2d3e4f5a6b7';

/** A job with something wrong for almost every check of intake. */
const JOB_FILE = `name: digits
machine: n1-standard-4
runtime: "2.9"
python: "3.9"
output: gs://no-such-bucket/run
region: us-central1
serviceAccount: trainer@p-labs.iam.gserviceaccount.com
network: projects/p/global/networks/n
kmsKey: projects/k/locations/us-central1/keyRings/r/cryptoKeys/k
notify: {channels: [someone]}
keepOnFailure: 2h
module: trainer.task
workers: {count: 2, image: "ghcr.io/o/digits:1"}
args: [--data=gs://no-such-data/x, --more=gs://uploads/nothing]
`;

async function verdict() {
  const runtimeOf = () => ({
    ...{ name: '2.11', note: null, gpus: null, bootDiskGib: null },
    ...{ pythonVersion: '3.10', architecture: 'arm64' as const },
  });
  const internetAccess = { regions: undefined, networks: {}, remoteRepositories: {} };
  const vmLimits = { VMS_MAX: { max: 1, reason: 'this deployment runs one VM', remedy: 'have vms_max raised' } };
  const limits = { vmLimits, zones: ['europe-west4-a'], rights: jobRightsSchema.parse({}), dataBuckets: [] };
  const api = await openApiUnderTest({ intake: { ...exampleIntake, ...limits, runtimeOf, internetAccess } });
  const headers = { 'content-type': 'application/octet-stream' };
  const program = {
    'trainer/__init__.py': '',
    'trainer/task.py': '',
    'requirements.txt': 'cupy-cuda12x\n',
    'job.yaml': JOB_FILE,
  };
  const body = Buffer.from(await packFiles(program));
  await api.request(`/v1/uploads/${UPLOAD}/parts/1`, { method: 'PUT', headers, body });
  const given = { fileName: 'digits.tar.gz', partCount: 1 };
  const { body: answer } = await api.post(`/v1/uploads/${UPLOAD}:validate`, given);
  await api.close();
  const codesOf = (found: readonly { readonly code: string }[]) => found.map(({ code }) => code);
  return { problems: codesOf(answer.problems), warnings: codesOf(answer.warnings) };
}

it('reports problems in the order of the checks, and first the warnings about what runs instead of what was requested', async () => {
  expect(await verdict()).toEqual({
    problems: [
      'JOB_DIR_BUCKET_MISSING',
      'NO_ZONE',
      'TOO_MANY_REPLICAS',
      'UNKNOWN_CHANNEL',
      'SERVICE_ACCOUNT_NOT_LISTED',
      'NETWORK_NOT_LISTED',
      'KMS_KEY_NOT_LISTED',
      'RUNTIME_ARCHITECTURE',
      'KEPT_TOO_LONG',
      'DATA_BUCKET_MISSING',
    ],
    warnings: [
      'RUNTIME_REPLACED',
      'PYTHON_REPLACED',
      'IMAGE_HOST_NOT_CHECKED',
      'GPU_BUILD_WITHOUT_GPU',
      'DATA_NOT_FOUND',
    ],
  });
});
