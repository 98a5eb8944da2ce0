import { describe, expect, it } from 'vitest';
import { isVertexField } from '#shared/job-file/formats/vertex-ai/read.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { readVertexFile, VERTEX_FILES } from '../../support/job-file/vertex-files.ts';

/** Code, field and line of each finding, in the order in which they are found. */
type Expected = {
  readonly problems?: readonly string[];
  readonly warnings?: readonly string[];
  readonly unsupported?: readonly string[];
};

const FILES: Readonly<Record<string, Expected>> = {
  'vertex-all-fields.yaml': {},
  'vertex-snake-case.yaml': {},
  'vertex-tuning.yaml': {},
  'vertex-as-returned.json': { warnings: ['JOB_RESOURCE name:2'] },
  'vertex-request.json': {},
  'vertex-tuning-request.json': { warnings: ['REQUEST_ENVELOPE hyperparameterTuningJob:2'] },
  'vertex-template.yaml': {
    problems: [
      'PLACEHOLDER workerPoolSpecs[0].replicaCount:6',
      'PLACEHOLDER workerPoolSpecs[0].machineSpec.acceleratorCount:5',
    ],
    warnings: ['LIST_OF_ONE workerPoolSpecs:2', 'LIST_OF_ONE workerPoolSpecs[0].pythonPackageSpec.packageUris:9'],
  },
  'vertex-five-pools.yaml': { problems: ['TOO_MANY_POOLS workerPoolSpecs[4]:6'] },
  'vertex-programs.yaml': {
    problems: ['POOL_PROGRAM workerPoolSpecs[0]:5', 'POOL_PROGRAM workerPoolSpecs[1]:6'],
    warnings: ['EMPTY_FIELD workerPoolSpecs[1].pythonPackageSpec:8'],
  },
  'vertex-environment.yaml': {
    problems: [
      'INVALID_ENVIRONMENT workerPoolSpecs[0].containerSpec.env[1].name:8',
      'INVALID_ENVIRONMENT workerPoolSpecs[0].containerSpec.env[2].name:9',
      'INVALID_ENVIRONMENT workerPoolSpecs[0].containerSpec.env[4]:11',
      'PLACEHOLDER workerPoolSpecs[0].containerSpec.env[5].name:12',
      'INVALID_ENVIRONMENT workerPoolSpecs[0].containerSpec.env[3]:10',
    ],
  },
  'vertex-unsupported.yaml': {
    unsupported: [
      'UNSUPPORTED_FIELD persistentResourceId:7',
      'UNSUPPORTED_FIELD models:9',
      'UNSUPPORTED_FIELD workerPoolSpecs[0].nfsMounts:4',
      'UNSUPPORTED_FIELD workerPoolSpecs[0].lustreMounts:5',
      'UNSUPPORTED_FIELD workerPoolSpecs[0].machineSpec.gpuPartitionSize:2',
    ],
  },
  'vertex-without-effect.yaml': {
    warnings: [
      'FIELD_WITHOUT_EFFECT trialJobSpec.tensorboard:14',
      'FIELD_WITHOUT_EFFECT trialJobSpec.experiment:15',
      'FIELD_WITHOUT_EFFECT trialJobSpec.experimentRun:16',
      'FIELD_WITHOUT_EFFECT trialJobSpec.enableDashboardAccess:18',
      'FIELD_WITHOUT_EFFECT trialJobSpec.protectedArtifactLocationId:19',
      'FIELD_WITHOUT_EFFECT trialJobSpec.reservedIpRanges:20',
      'FIELD_WITHOUT_EFFECT trialJobSpec.scheduling.disableRetries:13',
      'FIELD_WITHOUT_EFFECT trialJobSpec.scheduling.restartJobOnWorkerRestart:13',
      'FIELD_WITHOUT_EFFECT studySpec.observationNoise:3',
      'FIELD_WITHOUT_EFFECT studySpec.parameters[0].doubleValueSpec.defaultValue:6',
      'FIELD_WITHOUT_EFFECT studySpec.parameters[1].categoricalValueSpec.defaultValue:7',
    ],
  },
  'vertex-study-problems.yaml': {
    problems: [
      'UNKNOWN_FIELD studySpec.maxTrialCount:5',
      'EARLY_STOPPING studySpec.medianAutomatedStoppingSpec:4',
      'PARAMETER_SPACE studySpec.parameters[0]:7',
      'PARAMETER_SPACE studySpec.parameters[1]:10',
      'PARENT_VALUES studySpec.parameters[2].conditionalParameterSpecs[0]:14',
      'MISSING_FIELD studySpec.parameters[2].conditionalParameterSpecs[1].parameterSpec:16',
      'WRONG_TYPE studySpec.parameters[3].doubleValueSpec.minValue:18',
      'PARENT_VALUES studySpec.parameters[3].conditionalParameterSpecs[0]:20',
    ],
    warnings: ['LIST_OF_ONE studySpec.metrics:2'],
  },
  'vertex-slipped.yaml': {
    problems: [
      'UNKNOWN_FIELD displayName:1',
      'UNKNOWN_FIELD timeout:8',
      'UNKNOWN_FIELD workerPoolSpecs[0].imageUri:5',
      'UNKNOWN_FIELD workerPoolSpecs[0].diskSpecs:6',
    ],
  },
};

function summarize({ code, path, line }: Problem): string {
  return `${code} ${path ?? ''}${line === undefined ? '' : `:${line}`}`;
}

describe('Vertex AI jobs', () => {
  it('have expected findings for every fixture', () => {
    expect([...VERTEX_FILES].sort()).toEqual(Object.keys(FILES).sort());
  });

  it.each(Object.entries(FILES))('%s: reports exactly the expected findings', (file, expected) => {
    const { problems, warnings, unsupported } = readVertexFile(file);
    expect({
      problems: problems.map(summarize),
      warnings: warnings.map(summarize),
      unsupported: unsupported.map(summarize),
    }).toEqual({ problems: [], warnings: [], unsupported: [], ...expected });
  });

  it.each(Object.keys(FILES))('%s: has a message and a remedy in full sentences for each finding', (file) => {
    const { problems, warnings, unsupported } = readVertexFile(file);
    for (const { message, remedy } of [...problems, ...warnings, ...unsupported]) {
      expect(message).toMatch(/[.)]$/);
      expect(remedy).toMatch(/[.)]$/);
      expect(`${message} ${remedy}`).not.toMatch(/undefined|\[object/);
    }
  });

  it.each([
    ['workerPoolSpecs', true],
    ['jobSpec', true],
    ['trialJobSpec', true],
    ['hyperparameterTuningJob', true],
    ['trainingInput', false],
    ['scheduling', false],
    ['worker_pool_specs', false],
  ])('are identified by their fields: %s, %s', (name, isKnown) => {
    expect(isVertexField(name)).toBe(isKnown);
  });

  it('with an unknown field are rejected with the mapping that it belongs to or a similar name', () => {
    const remedies = readVertexFile('vertex-slipped.yaml').problems.map(({ remedy }) => remedy);
    expect(remedies[0]).toContain('the job itself, beside its jobSpec or trialJobSpec');
    expect(remedies[1]).toContain('scheduling');
    expect(remedies[2]).toContain('workerPoolSpecs[0].containerSpec');
    expect(remedies[3]).toContain('"diskSpec"');
    expect(readVertexFile('vertex-study-problems.yaml').problems[0]?.remedy).toContain('next to studySpec');
  });
});
