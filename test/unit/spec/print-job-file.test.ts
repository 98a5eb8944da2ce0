import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCatalog } from '#shared/catalog/catalog.ts';
import { resolveMachine } from '#shared/catalog/resolve-machine.ts';
import { regionsFor } from '#shared/catalog/zones.ts';
import { JOB_ID_PATTERN, type JobSpec } from '#shared/domain/job-spec.ts';
import { checkJob } from '#shared/spec/check-job.ts';
import type { JobContext } from '#shared/spec/job-context.ts';
import { printJobFile } from '#shared/spec/print-job-file.ts';
import { readJobFile } from '#shared/spec/read-job-file.ts';
import { toTrainingInputDictionary } from '#shared/spec/training-input-dictionary.ts';
import { CONTEXT } from './context.ts';

const OTHER_CONTEXT: JobContext = {
  defaults: { region: 'asia-east1', runtimeVersion: 'other', jobDirBase: 'gs://elsewhere', jobId: 'other' },
  packageBase: null,
  uploadBucket: null,
};

function read(text: string, context: JobContext = OTHER_CONTEXT) {
  const { draft, problems } = readJobFile(text, { fileName: 'job.yaml' });
  return draft === null ? { spec: null, problems } : checkJob(draft, context);
}

const labelCharacters = fc.constantFrom(...'abcz019_-é');

/** Machines of every kind that can be had, each in a region that has it. */
const machines = [
  ...readCatalog().machineTypes.map(({ name }) => resolveMachine({ machineType: name, accelerator: null })),
  ...readCatalog().accelerators.flatMap(({ name, attach }) =>
    (attach ?? []).map(({ count }) =>
      resolveMachine({ machineType: 'n1-standard-4', accelerator: { type: name, count } }),
    ),
  ),
].flatMap((resolution) =>
  'machine' in resolution && regionsFor([resolution.machine]).length > 0 ? [resolution.machine] : [],
);

const spec: fc.Arbitrary<JobSpec> = fc
  .record({
    jobId: fc.stringMatching(JOB_ID_PATTERN),
    labels: fc.dictionary(
      fc.string({ unit: labelCharacters, maxLength: 20 }).map((tail) => `a${tail}`),
      fc.string({ unit: labelCharacters, maxLength: 63 }),
      { maxKeys: 5, noNullPrototype: true },
    ),
    machine: fc.constantFrom(...machines),
    bootDiskGib: fc.integer({ min: 100, max: 64_000 }),
    program: fc.record({
      packageUris: fc.array(
        fc.stringMatching(/^[a-z0-9 _%'"#:&-]{1,20}$/).map((name) => `gs://bucket/x${name}.whl`),
        { minLength: 1, maxLength: 5 },
      ),
      module: fc.constantFrom('task', 'trainer.task', 'true', 'null', 'träiner._1'),
      args: fc.array(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.constantFrom(
            '',
            ' ',
            '10',
            '1e-5',
            'true',
            '~',
            'null',
            '- a',
            'a: b',
            '#',
            '\n',
            'a\n b\n',
            '\t',
            '\u0085',
            '\u2028',
            '|',
          ),
        ),
        { maxLength: 8 },
      ),
    }),
    runtimeVersion: fc.constantFrom('2.11', '1.10', 'tf2-gpu.2-11', '0x10', '1_0'),
    pythonVersion: fc.constantFrom(null, '3.10', '3.7'),
    jobDir: fc.constantFrom('gs://jobs', 'gs://jobs/a b/c', 'gs://my.jobs/#x'),
    maxRunningMs: fc.integer({ min: 1, max: 10_000_000_000 }),
    maxWaitMs: fc.option(fc.integer({ min: 1, max: 10_000_000_000 })),
  })
  .filter(({ program }) => program.args.every((arg) => !arg.includes('\0') && arg.isWellFormed()))
  .map(({ machine, bootDiskGib, maxRunningMs, maxWaitMs, ...rest }) => ({
    ...rest,
    replicaGroups: [{ role: 'master', count: 1, ...machine, bootDiskGib }],
    region: regionsFor([machine])[0] ?? '',
    provisioningModel:
      readCatalog().machineTypes.find(({ name }) => name === machine.machineType)?.provisioningModels[0] ?? 'STANDARD',
    limits: { maxRunningMs, maxWaitMs, restartsMax: 0 },
  }));

describe('printing a job file', () => {
  it('prints what reads as the same job, whatever the defaults are', () => {
    const property = fc.property(spec, (job) => {
      const { spec: again, problems } = read(printJobFile(job));
      expect(problems).toEqual([]);
      expect(again).toEqual(job);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('gives the program its TrainingInput with names in snake_case and counts as text', () => {
    const text = `
jobId: a
trainingInput:
  scaleTier: BASIC_GPU
  packageUris: [gs://bkt/c.whl]
  pythonModule: trainer.task
  args: [--stepCount, '3']
  scheduling: {maxRunningTime: 1.5s}
`;
    const { spec: job } = read(text, CONTEXT);
    expect(job && toTrainingInputDictionary(job)).toEqual({
      scale_tier: 'CUSTOM',
      master_type: 'n1-standard-8',
      master_config: {
        accelerator_config: { type: 'NVIDIA_TESLA_T4', count: '1' },
        disk_config: { boot_disk_size_gb: 100 },
      },
      package_uris: ['gs://bkt/c.whl'],
      python_module: 'trainer.task',
      args: ['--stepCount', '3'],
      region: 'us-central1',
      job_dir: 'gs://jobs/all/a',
      runtime_version: '2.11',
      scheduling: { max_running_time: '1.5s' },
    });
  });
});
