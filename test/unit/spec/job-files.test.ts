import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Problem } from '#shared/protocol/report.ts';
import { checkJob } from '#shared/spec/check-job.ts';
import { readJobFile } from '#shared/spec/read-job-file.ts';
import { CONTEXT } from './context.ts';

const FOLDER = new URL('../../fixtures/job-files/', import.meta.url);

/** Code, field and line of each finding, in the file's order. */
type Expected = { readonly problems?: readonly string[]; readonly warnings?: readonly string[] };

const MISSING = [
  'MISSING_FIELD jobId',
  'MISSING_FIELD trainingInput.packageUris',
  'MISSING_FIELD trainingInput.pythonModule',
];

const FILES: Readonly<Record<string, Expected>> = {
  'minimal.yaml': {},
  'all-fields.yaml': {},
  'snake-case.yaml': {},
  'job.json': {},
  'as-returned.json': {},
  'bom.yaml': {},
  'crlf.yaml': {},
  'utf-16-le.yaml': {},
  'utf-16-be.yaml': {},
  'anchors-and-merge.yaml': {},
  'printed-request.json': { warnings: ['REQUEST_ENVELOPE body:4'] },
  'no-wrapper.yaml': { warnings: ['WRAPPER_MISSING :2'] },
  'legacy-k80x8.yaml': { warnings: ['ACCELERATOR_REPLACED trainingInput.masterType:4'] },
  'basic-gpu.yaml': { warnings: ['ACCELERATOR_REPLACED trainingInput.scaleTier:3'] },
  'zero-workers.yaml': {
    warnings: [
      'FIELD_WITHOUT_EFFECT trainingInput.workerType:5',
      'FIELD_WITHOUT_EFFECT trainingInput.scheduling.priority:12',
      'SHORT_MAX_WAIT_TIME trainingInput.scheduling.maxWaitTime:12',
    ],
  },
  'list-of-one.yaml': {
    warnings: [
      'LIST_OF_ONE trainingInput.packageUris:4',
      'EMPTY_FIELD trainingInput.runtimeVersion:7',
      'PYTHON_2 trainingInput.pythonVersion:8',
    ],
  },
  'nothing-said.yaml': { problems: MISSING, warnings: ['DEFAULT_SCALE_TIER trainingInput.scaleTier'] },
  'many-problems.yaml': {
    problems: [
      'INVALID_JOB_ID jobId:1',
      'INVALID_LABEL labels.Team:3',
      'UNKNOWN_MACHINE_TYPE trainingInput.masterType:6',
      'INVALID_PACKAGE_URI trainingInput.packageUris[0]:7',
      'INVALID_PACKAGE_URI trainingInput.packageUris[1]:7',
      'INVALID_PACKAGE_URI trainingInput.packageUris[2]:7',
      'INVALID_PYTHON_MODULE trainingInput.pythonModule:8',
      'UNKNOWN_REGION trainingInput.region:9',
      'INVALID_JOB_DIR trainingInput.jobDir:10',
      'INVALID_RUNTIME_VERSION trainingInput.runtimeVersion:11',
      'INVALID_PYTHON_VERSION trainingInput.pythonVersion:12',
      'UNKNOWN_FIELD trainingInput.maxRunningTime:13',
      'UNKNOWN_FIELD trainingInput.sheduling:14',
      'INVALID_DURATION trainingInput.scheduling.maxRunningTime:17',
      'INVALID_DURATION trainingInput.scheduling.maxWaitTime:18',
      'UNKNOWN_STRATEGY trainingInput.scheduling.strategy:19',
    ],
  },
  'unsupported.yaml': {
    problems: [
      'UNSUPPORTED_FIELD trainingInput.workerCount:5',
      'UNSUPPORTED_FIELD trainingInput.masterConfig.imageUri:8',
      'UNSUPPORTED_FIELD trainingInput.hyperparameters:9',
      'UNSUPPORTED_FIELD trainingInput.serviceAccount:11',
      'UNSUPPORTED_FIELD trainingInput.network:12',
      'UNSUPPORTED_FIELD trainingInput.encryptionConfig:13',
      'UNSUPPORTED_FIELD trainingInput.enableWebAccess:14',
    ],
    warnings: ['FIELD_WITHOUT_EFFECT trainingInput.workerType:6'],
  },
  'standard-tier.yaml': { problems: ['UNSUPPORTED_FIELD trainingInput.scaleTier:3'] },
  'hyphen-tier.yaml': { problems: ['UNKNOWN_SCALE_TIER trainingInput.scaleTier:3'] },
  'tier-not-custom.yaml': { problems: ['TIER_NOT_CUSTOM trainingInput.masterType:3'] },
  'master-type-missing.yaml': { problems: ['MASTER_TYPE_MISSING trainingInput.scaleTier:3'] },
  'no-zone.yaml': { problems: ['NO_ZONE trainingInput.region:7'] },
  'spot-only.yaml': { problems: ['WRONG_PROVISIONING_MODEL trainingInput.masterType:4'] },
  'tpu.yaml': { problems: ['UNSUPPORTED_FIELD trainingInput.masterType:4'] },
  'half-accelerator.yaml': {
    problems: [
      'INCOMPLETE_ACCELERATOR trainingInput.masterConfig.acceleratorConfig.type:5',
      'UNKNOWN_DISK_TYPE trainingInput.masterConfig.diskConfig.bootDiskType:5',
      'INVALID_DISK_SIZE trainingInput.masterConfig.diskConfig.bootDiskSizeGb:5',
    ],
  },
  'wrong-kinds.yaml': {
    problems: [
      'WRONG_TYPE jobId:1',
      'WRONG_TYPE labels:2',
      'WRONG_TYPE trainingInput.masterConfig:5',
      'WRONG_TYPE trainingInput.args[0]:7',
      'WRONG_TYPE trainingInput.args[1]:8',
      'WRONG_TYPE trainingInput.region:9',
    ],
  },
  'upload-bucket.yaml': { problems: ['JOB_DIR_IN_UPLOAD_BUCKET trainingInput.jobDir:7'] },
  'said-twice.yaml': { problems: ['DUPLICATE_FIELD :5', 'DUPLICATE_FIELD trainingInput.pythonModule:8'] },
  'empty-wrapper.yaml': {
    problems: ['UNKNOWN_FIELD scaleTier:2', ...MISSING],
    warnings: ['EMPTY_FIELD trainingInput:1', 'DEFAULT_SCALE_TIER trainingInput.scaleTier'],
  },
  'vertex.yaml': { problems: ['UNSUPPORTED_FIELD workerPoolSpecs:1'] },
  'other-tool.yaml': { problems: ['NOT_A_JOB_FILE :1'] },
  'list-root.yaml': { problems: ['NOT_A_JOB_FILE :1'] },
  'empty.yaml': { problems: ['NOT_A_JOB_FILE '] },
  'tab.yaml': { problems: ['NOT_YAML :2'] },
  'no-yaml.yaml': { problems: ['NOT_YAML :4'] },
  'lost-alias.yaml': { problems: ['NOT_YAML :3'] },
  'latin-1.yaml': { problems: ['NOT_TEXT '] },
  'two-documents.yaml': { problems: ['MULTIPLE_DOCUMENTS :2'] },
  'laughs.yaml': { problems: ['TOO_MANY_VALUES :1'] },
  'own-tail.yaml': { problems: ['TOO_DEEP :3'] },
};

function judge(file: string) {
  const reading = readJobFile(readFileSync(new URL(file, FOLDER)), { fileName: file });
  return reading.draft === null ? { ...reading, spec: null } : checkJob(reading.draft, CONTEXT);
}

function summarize({ code, path, line }: Problem): string {
  return `${code} ${path ?? ''}${line === undefined ? '' : `:${line}`}`;
}

describe('job files', () => {
  it('has a verdict for every fixture', () => {
    expect(readdirSync(FOLDER).sort()).toEqual(Object.keys(FILES).sort());
  });

  it.each(Object.entries(FILES))(
    '%s: finds just what is wrong, and where',
    (file, { problems = [], warnings = [] }) => {
      const { spec, ...found } = judge(file);
      expect({ problems: found.problems.map(summarize), warnings: found.warnings.map(summarize) }).toEqual({
        problems,
        warnings,
      });
      expect(spec === null).toBe(problems.length > 0);
    },
  );

  it.each(Object.keys(FILES))('%s: says of each finding what happened and what to do, in full sentences', (file) => {
    const { problems, warnings } = judge(file);
    for (const { message, remedy } of [...problems, ...warnings]) {
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
  ])('%s: reads as the plain YAML file does', (file) => {
    const { machineType, accelerator } = judge(file).spec?.replicaGroups[0] ?? {};
    expect({ ...judge(file).spec, replicaGroups: [] }).toEqual({ ...judge('minimal.yaml').spec, replicaGroups: [] });
    expect([machineType, accelerator]).toEqual(
      file === 'snake-case.yaml' ? ['n1-standard-8', { type: 'nvidia-tesla-t4', count: 1 }] : ['n1-standard-4', null],
    );
  });

  it('reads every field that a job of one machine has', () => {
    const { spec } = judge('all-fields.yaml');
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
        },
      ],
      program: {
        packageUris: ['gs://my-bucket/deps/data-1.0-py3-none-any.whl', 'gs://uploads/folder/dist/trainer-0.1.tar.gz'],
        module: 'trainer.task',
        args: ['--epochs', '10', '--learning-rate', '1e-5', '--flag=true', ''],
      },
      region: 'europe-west4',
      provisioningModel: 'SPOT',
      runtimeVersion: '1.10',
      pythonVersion: '3.7',
      jobDir: 'gs://my-bucket/jobs/census',
      limits: { maxRunningMs: 7_200_000, maxWaitMs: 3_600_500, restartsMax: 0 },
    });
  });

  it('completes what the file leaves out', () => {
    const { spec } = judge('minimal.yaml');
    expect(spec).toMatchObject({
      labels: {},
      jobDir: 'gs://jobs/all/census_1',
      runtimeVersion: '2.11',
      pythonVersion: null,
      provisioningModel: 'STANDARD',
      limits: { maxRunningMs: 604_800_000, maxWaitMs: null, restartsMax: 0 },
      replicaGroups: [{ role: 'master', count: 1, machineType: 'n1-standard-4', accelerator: null, bootDiskGib: 100 }],
    });
  });

  it('follows merge keys, with what is said beside them before what they bring', () => {
    expect(judge('anchors-and-merge.yaml').spec?.labels).toEqual({ team: 'vision', stage: 'final' });
  });

  it('puts four T4 in the place of eight K80', () => {
    expect(judge('legacy-k80x8.yaml').spec?.replicaGroups[0]).toMatchObject({
      machineType: 'n1-standard-32',
      accelerator: { type: 'nvidia-tesla-t4', count: 4 },
    });
  });

  it('names what was probably meant', () => {
    const remedies = judge('many-problems.yaml').problems.map(({ remedy }) => remedy);
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
