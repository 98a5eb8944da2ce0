import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { toSingleTraining } from '#shared/job-file/parser/single-training.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import expectedFindings from '../../fixtures/job-file-findings.json' with { type: 'json' };
import { CONTEXT } from '../../support/job-file/context.ts';

const FOLDER = new URL('../../fixtures/job-files/', import.meta.url);

/** Code, field and line of each finding, in the file's order. */
type Expected = {
  readonly problems?: readonly string[];
  readonly warnings?: readonly string[];
  readonly unsupported?: readonly string[];
};

const FILES: Readonly<Record<string, Expected>> = expectedFindings;

function validate(file: string) {
  const reading = readJobFile(readFileSync(new URL(file, FOLDER)), { fileName: file });
  return reading.draft === null ? { ...reading, spec: null } : checkJob(reading.draft, CONTEXT);
}

function summarize({ code, path, line }: Problem): string {
  return `${code} ${path ?? ''}${line === undefined ? '' : `:${line}`}`;
}

describe('job files', () => {
  it('have an expected result for every fixture', () => {
    expect(readdirSync(FOLDER).sort()).toEqual(Object.keys(FILES).sort());
  });

  it.each(Object.entries(FILES))(
    '%s: has exactly the expected findings',
    (file, { problems = [], warnings = [], unsupported = [] }) => {
      const { spec, ...found } = validate(file);
      expect({
        problems: found.problems.map(summarize),
        warnings: found.warnings.map(summarize),
        unsupported: found.unsupported.map(summarize),
      }).toEqual({ problems, warnings, unsupported });
      expect(spec === null).toBe(problems.length > 0);
    },
  );

  it.each(Object.keys(FILES))('%s: has a message and a remedy in full sentences for each finding', (file) => {
    const { problems, warnings, unsupported } = validate(file);
    for (const { message, remedy } of [...problems, ...warnings, ...unsupported]) {
      expect(message).toMatch(/[.)]$/);
      expect(remedy).not.toBe('');
      expect(`${message} ${remedy}`).not.toMatch(/undefined|null|\[object/);
    }
  });

  it.each([
    'snake-case.yaml',
    'job.json',
    'as-returned.json',
    'bom.yaml',
    'crlf.yaml',
    'utf-16-le.yaml',
    'utf-16-be.yaml',
    'printed-request.json',
    'no-wrapper.yaml',
  ])('%s: reads like the plain YAML file', (file) => {
    const { machineType, accelerator } = validate(file).spec?.replicaGroups[0] ?? {};
    expect({ ...validate(file).spec, replicaGroups: [] }).toEqual({
      ...validate('minimal.yaml').spec,
      replicaGroups: [],
    });
    expect([machineType, accelerator]).toEqual(
      file === 'snake-case.yaml' ? ['n1-standard-8', { type: 'nvidia-tesla-t4', count: 1 }] : ['n1-standard-4', null],
    );
  });

  it('reads every field of a job with one machine', () => {
    const { spec } = validate('all-fields.yaml');
    expect(spec).toEqual({
      jobId: 'census_gpu',
      labels: { team: 'vision', run: '42' },
      replicaGroups: [
        {
          role: 'master',
          count: 1,
          machineType: 'n1-standard-8',
          accelerator: { type: 'nvidia-tesla-v100', count: 2 },
          bootDiskGib: 200,
          bootDiskType: 'pd-ssd',
          reservation: null,
          program: null,
          provisioningModel: null,
        },
      ],
      program: {
        kind: 'PYTHON',
        packageUris: ['gs://my-bucket/deps/data-1.0-py3-none-any.whl', 'gs://uploads/folder/dist/trainer-0.1.tar.gz'],
        module: 'trainer.task',
        args: ['--epochs', '10', '--learning-rate', '1e-5', '--flag=true', ''],
        environment: {},
      },
      region: 'europe-west4',
      provisioningModel: 'SPOT',
      runtimeVersion: '1.10',
      pythonVersion: '3.7',
      jobDir: 'gs://my-bucket/jobs/census',
      service: 'AI_PLATFORM',
      passesJobDir: true,
      serviceAccount: null,
      network: null,
      subnetwork: null,
      networkAttachment: null,
      kmsKeyName: null,
      notify: null,
      programOptions: {},
      health: {},
      secrets: {},
      study: null,
      limits: { maxRunningMs: 7_200_000, maxWaitMs: 3_600_500, restartsMax: 0, keepOnFailureMs: 0 },
    });
  });

  it('completes the file with defaults', () => {
    const { spec } = validate('minimal.yaml');
    expect(spec).toMatchObject({
      labels: {},
      jobDir: 'gs://jobs/all/census_1',
      runtimeVersion: '2.11',
      pythonVersion: null,
      provisioningModel: 'STANDARD',
      limits: { maxRunningMs: 604_800_000, maxWaitMs: null, restartsMax: 0, keepOnFailureMs: 0 },
      replicaGroups: [
        { role: 'master', count: 1, machineType: 'n1-standard-4', bootDiskGib: 100, bootDiskType: 'pd-ssd' },
      ],
    });
  });

  it.each([
    'hpt-all-fields.yaml',
    'hpt-snake-case.yaml',
    'own-tuning.yaml',
    'vertex-tuning.yaml',
    'vertex-tuning-request.json',
  ])('%s: is a job of the same machines without its tuning', (file) => {
    const text = readFileSync(new URL(file, FOLDER), 'utf8');
    const [tuning, training] = [text, toSingleTraining(text)].map((source) => readJobFile(source, { fileName: file }));
    expect([tuning?.draft?.study === undefined, training?.draft?.study]).toEqual([false, undefined]);
    expect(training?.problems).toEqual([]);
    expect(training?.draft?.pools.map(({ machineType }) => machineType?.value)).toEqual(
      tuning?.draft?.pools.map(({ machineType }) => machineType?.value),
    );
  });

  it('supports merge keys, whose values are overridden by the mapping’s own', () => {
    expect(validate('anchors-and-merge.yaml').spec?.labels).toEqual({ team: 'vision', stage: 'final' });
  });

  it('replaces 8 K80 by 4 T4', () => {
    expect(validate('legacy-k80x8.yaml').spec?.replicaGroups[0]).toMatchObject({
      machineType: 'n1-standard-32',
      accelerator: { type: 'nvidia-tesla-t4', count: 4 },
    });
  });

  it('suggests similar names', () => {
    const remedies = validate('many-problems.yaml').problems.map(({ remedy }) => remedy);
    const hints = [
      'my_first_job',
      '"n1-standard-8"',
      'trainer.task',
      '"us-central1"',
      'under trainingInput.scheduling',
      '"scheduling"',
      '7200s',
    ];
    for (const hint of hints) {
      expect(remedies.some((remedy) => remedy.includes(hint))).toBe(true);
    }
  });
});
