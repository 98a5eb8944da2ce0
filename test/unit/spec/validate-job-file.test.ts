import { describe, expect, it } from 'vitest';
import { validateJobFile } from '#shared/spec/validate-job-file.ts';
import { CONTEXT } from './context.ts';

function validate(source: string) {
  return validateJobFile(source, { fileName: 'job.yaml', context: CONTEXT });
}

describe('validating a job file by itself', () => {
  it('takes what a submission adds from elsewhere for a warning', () => {
    const { verdict, errors, warnings, spec } = validate('trainingInput: {scaleTier: BASIC}');
    expect({ verdict, errors, codes: warnings.map(({ code }) => code), spec }).toEqual({
      verdict: 'valid',
      errors: [],
      codes: ['MISSING_FIELD', 'MISSING_FIELD', 'MISSING_FIELD'],
      spec: undefined,
    });
  });

  it('names the GPUs that were asked for, and prices those that would run', () => {
    const { cluster, price, warnings } = validate(
      'trainingInput: {scaleTier: CUSTOM, masterType: complex_model_l_gpu}',
    );
    expect(cluster).toEqual({ master: ['n1-standard-32', { NVIDIA_TESLA_K80: 8 }] });
    expect(warnings.map(({ code }) => code)).toContain('ACCELERATOR_REPLACED');
    expect(price).toEqual({
      onDemandPerHour: 2.91999,
      spotPerHour: 1.05256,
      vertexPerHour: 3.357988,
      asOf: '2026-11-20',
      region: 'us-central1',
    });
  });

  it('gives the job where the file says all of it', () => {
    const { verdict, dialect, spec } = validate(
      'jobId: a\ntrainingInput: {scaleTier: BASIC, pythonModule: t.a, packageUris: [p.whl]}',
    );
    expect({ verdict, dialect, jobId: spec?.jobId, packages: spec?.program.packageUris }).toEqual({
      verdict: 'valid',
      dialect: 'ai-platform',
      jobId: 'a',
      packages: ['gs://uploads/folder/p.whl'],
    });
  });

  it('refuses what is no job file, without dialect, cluster and price', () => {
    expect(validate('a: b')).toEqual({
      verdict: 'invalid',
      dialect: null,
      errors: [expect.objectContaining({ code: 'NOT_A_JOB_FILE' })],
      warnings: [],
    });
  });
});
