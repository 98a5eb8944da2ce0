import { describe, expect, it } from 'vitest';
import { validateJobFile } from '#shared/job-file/validate-job-file.ts';
import { CONTEXT } from '../../support/job-file/context.ts';

function validate(source: string) {
  return validateJobFile(source, { fileName: 'job.yaml', context: CONTEXT });
}

describe('validateJobFile', () => {
  it('does not report what a submission supplies: job id, package and module', () => {
    const { verdict, errors, warnings, isRunnable } = validate('trainingInput: {scaleTier: BASIC}');
    expect({ verdict, errors, warnings, isRunnable }).toEqual({
      ...{ verdict: 'valid', errors: [], warnings: [] },
      isRunnable: true,
    });
  });

  it('reports what no flag can set', () => {
    const { warnings } = validate('module: a.b\ntune: {parameters: {rate: {min: 0.1, max: 1}}}');
    expect(warnings.map(({ code, path }) => `${code} ${path}`)).toContain('MISSING_FIELD tune.metric');
  });

  it('accepts a study without parameters if it resumes another', () => {
    const { verdict, errors } = validate(
      'trainingInput: {scaleTier: BASIC, hyperparameters: {goal: MAXIMIZE, maxTrials: 5, resumePreviousJobId: first}}',
    );
    expect({ verdict, errors }).toEqual({ verdict: 'valid', errors: [] });
  });

  it('names a machine type of Compute Engine that is not offered as such', () => {
    for (const type of ['c4-standard-8', 'h4d-standard-192', 'c3-standard-22-lssd', 'e2-medium']) {
      const { errors } = validate(`trainingInput: {scaleTier: CUSTOM, masterType: ${type}}`);
      expect(errors.map(({ code, message }) => `${code}: ${message}`)).toEqual([
        `MACHINE_TYPE_NOT_OFFERED: ${type} is a machine type of Compute Engine that Dropforge does not offer.`,
      ]);
    }
  });

  it('returns the requested GPUs, and the price of those that would run', () => {
    const { cluster, price, warnings } = validate(
      'trainingInput: {scaleTier: CUSTOM, masterType: complex_model_l_gpu}',
    );
    expect(cluster).toEqual({ master: ['n1-standard-32', { NVIDIA_TESLA_K80: 8 }] });
    expect(warnings.map(({ code }) => code)).toContain('ACCELERATOR_REPLACED');
    expect(price).toEqual({
      perHour: 2.91999,
      onDemandPerHour: 2.91999,
      spotPerHour: 1.05256,
      vertexPerHour: 3.357988,
      maxRunningMs: 604_800_000,
      asOf: '2026-11-20',
      region: 'us-central1',
    });
  });

  it('reports unsupported features as warnings, and the job as not runnable', () => {
    const { verdict, warnings, isRunnable } = validate(
      'displayName: a\njobSpec: {workerPoolSpecs: {machineSpec: {machineType: ct5lp-hightpu-1t}, replicaCount: 1, containerSpec: {imageUri: gcr.io/p/i}}}',
    );
    expect({ verdict, isRunnable, codes: warnings.map(({ code }) => code) }).toEqual({
      verdict: 'valid',
      isRunnable: false,
      codes: ['LIST_OF_ONE', 'UNSUPPORTED_FIELD'],
    });
  });

  it('reports placeholders as warnings', () => {
    const { verdict, warnings } = validate('module: t.a\nmachine: $MACHINE\nregion: <your region>');
    expect({ verdict, codes: warnings.map(({ code }) => code).filter((code) => code === 'PLACEHOLDER') }).toEqual({
      verdict: 'valid',
      codes: ['PLACEHOLDER', 'PLACEHOLDER'],
    });
  });

  it('has the price of Spot workers beside an on-demand master, and of all machines on demand and as Spot VMs', () => {
    const priceOf = (text: string) => validate(`module: t.a\nmachine: n1-standard-4\n${text}`).price;
    const [alone, mixed, all] = ['', 'workers: {count: 3, spot: true}', 'workers: 3'].map(priceOf);
    expect(mixed?.perHour).toBeCloseTo((alone?.onDemandPerHour ?? 0) + 3 * (alone?.spotPerHour ?? 0));
    expect({ ...mixed, perHour: all?.perHour }).toEqual(all);
  });

  it('includes all concurrent trials in the price', () => {
    const tuned = (parallel: number) =>
      validate(
        `module: t.a\nmachine: n1-standard-4\ntune: {metric: m, trials: 8, parallel: ${parallel}, parameters: {x: {min: 0.5, max: 1}}}`,
      );
    expect(tuned(4).trials).toEqual({ max: 8, parallel: 4 });
    expect(tuned(4).price?.onDemandPerHour).toBeCloseTo(4 * (tuned(1).price?.onDemandPerHour ?? 0));
  });

  it('includes at most the total number of trials in the price', () => {
    const tuned = (parallel: number) =>
      validate(`module: t.a\ntune: {metric: m, trials: 2, parallel: ${parallel}, parameters: {x: {min: 0.5, max: 1}}}`);
    expect(tuned(9).price).toEqual(tuned(2).price);
  });

  it('returns no cluster for an empty trainingInput', () => {
    expect(validate('trainingInput:\nscaleTier: BASIC').cluster).toBeNull();
  });

  it('rejects a file that is not a job file, without dialect, cluster or price', () => {
    expect(validate('a: b')).toEqual({
      verdict: 'invalid',
      dialect: null,
      errors: [expect.objectContaining({ code: 'NOT_A_JOB_FILE' })],
      warnings: [],
      cluster: null,
      trials: null,
      parameters: [],
      price: null,
      images: [],
      network: { network: null, networkAttachment: null, region: null },
      plan: null,
      isRunnable: false,
    });
  });
});
