import { describe, expect, it } from 'vitest';
import { readJob } from '#shared/job-file/read-job.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import { CONTEXT } from '../../support/job-file/context.ts';

const OWN = 'module: trainer.task\n';
const AI_PLATFORM = 'trainingInput: {pythonModule: trainer.task, region: us-central1}';
const VERTEX =
  'workerPoolSpecs: [{machineSpec: {machineType: n1-standard-8}, replicaCount: 1, containerSpec: {imageUri: gcr.io/a/b}}]';

function jobOf(jobFile: string | null, flags: readonly string[]) {
  const job = { jobFile, fileName: 'job.yaml', command: 'jobs submit training', jobId: 'one' } as const;
  const packages = jobFile === VERTEX ? [] : ['--packages=gs://libs/p.tar.gz'];
  const reading = readJob({ ...job, flags: [...packages, ...flags] });
  const check = reading.draft && checkJob(reading.draft, CONTEXT);
  const problems = [...reading.problems, ...(check?.problems ?? [])];
  const [group] = check?.spec?.replicaGroups ?? [];
  return { spec: check?.spec, group, messages: problems.map(({ message }) => message), warnings: check?.warnings };
}

describe('flags that gcloud does not have', () => {
  it.each([
    ['T4', 'nvidia-tesla-t4', 1, 'n1-standard-8'],
    ['t4:2', 'nvidia-tesla-t4', 2, 'n1-standard-16'],
    ['nvidia-tesla-t4', 'nvidia-tesla-t4', 1, 'n1-standard-8'],
    ['A100-80GB', 'nvidia-a100-80gb', 1, 'a2-ultragpu-1g'],
    ['L4:4', 'nvidia-l4', 4, 'g2-standard-48'],
    ['2xL4', 'nvidia-l4', 2, 'g2-standard-24'],
  ])('--gpu %s is %s × %i with the smallest machine for them', (text, ...[type, count, machineType]) => {
    const { group, messages } = jobOf(OWN, [`--gpu=${text}`]);
    expect(messages).toEqual([]);
    expect(group?.machineType).toBe(machineType);
    // A machine type with built-in GPUs says which.
    expect(group?.accelerator ?? { type, count }).toEqual({ type, count });
  });

  it.each([OWN, AI_PLATFORM, VERTEX])('apply to a job file of any format: %s', (jobFile) => {
    const { spec, group, messages } = jobOf(jobFile, ['--gpu=T4', '--spot', '--max-runtime=2h', '--env=A=b,c=d']);
    expect(messages).toEqual([]);
    expect(group).toMatchObject({ machineType: 'n1-standard-8', accelerator: { type: 'nvidia-tesla-t4', count: 1 } });
    expect(spec).toMatchObject({ provisioningModel: 'SPOT', limits: { maxRunningMs: 7_200_000 } });
    expect(spec?.program.environment).toEqual({ A: 'b,c=d' });
  });

  it('describe a job without a file', () => {
    const { group, messages } = jobOf(null, ['--module-name=trainer.task', '--region=us-central1', '--gpu=L4']);
    expect(messages).toEqual([]);
    expect(group?.machineType).toBe('g2-standard-8');
  });

  it('keep the machine that the file names, and replace one that follows from its GPUs, also for its workers', () => {
    expect(jobOf(`${OWN}machine: n1-highmem-8`, ['--gpu=T4']).group?.machineType).toBe('n1-highmem-8');
    const { spec } = jobOf(`${OWN}gpu: T4\nworkers: 2\n`, ['--gpu=L4:2']);
    expect(spec?.replicaGroups.map(({ machineType }) => machineType)).toEqual(['g2-standard-24', 'g2-standard-24']);
  });

  it('leave groups alone that name a machine of their own', () => {
    const { spec } = jobOf(`${OWN}workers: {count: 1, machine: n1-highmem-8}`, ['--gpu=T4']);
    expect(spec?.replicaGroups.map(({ accelerator }) => accelerator?.type ?? null)).toEqual(['nvidia-tesla-t4', null]);
  });

  it('add variables to those of the file, and replace those of the same name', () => {
    const { spec } = jobOf(`${OWN}env: {A: file, B: file}`, ['--env=A=first', '--env=A=flag', '--env=C=']);
    expect(spec?.program.environment).toEqual({ A: 'flag', B: 'file', C: '' });
  });

  it.each([
    ['--gpu=T5', '"T5" is not a GPU type.'],
    ['--max-runtime=two hours', '--max-runtime two hours: use a duration, such as 90m, 2h or 1d.'],
    ['--env=A', '--env A: use KEY=VALUE, and repeat the flag for each variable.'],
  ])('%s is answered with what to write', (flag, message) => {
    expect(jobOf(OWN, [flag]).messages.join()).toContain(message);
  });

  it('refuse a token as a variable, without repeating it, and name the flag for secrets', () => {
    const token = `hf_${'aB3dE6gH9j'.repeat(3)}kLmN`;
    const { spec, messages } = jobOf(OWN, [`--env=HF_TOKEN=${token}`]);
    expect(spec).toBeUndefined();
    expect(messages.join()).toContain('--env HF_TOKEN contains a Hugging Face token');
    expect(messages.join()).toContain('--set-secrets=HF_TOKEN=SECRET');
    expect(messages.join()).not.toContain(token);
  });
});
