import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT, EMPTY_PROGRAM, emptyPool, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkPythonVersion, checkRuntimeVersion } from '#shared/job-file/validation/check-versions.ts';
import { located } from '../../support/job-file/located.ts';

const EXECUTOR = 'us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-8:latest';
const EXECUTOR_PATH = 'workerPoolSpecs[0].pythonPackageSpec.executorImageUri';

function runtimeOf(draft: Partial<JobDraft>) {
  const findings = createFindings();
  const version = checkRuntimeVersion({ ...EMPTY_DRAFT, ...draft }, '2.11', findings);
  return { version, codes: [...findings.problems, ...findings.warnings].map(({ code, path }) => `${code} ${path}`) };
}

function runBy(image: string, imageOfWorkers = image): Partial<JobDraft> {
  const poolOf = (role: 'master' | 'worker', uri: string, path: string) => ({
    ...emptyPool(role, path),
    program: { ...EMPTY_PROGRAM, executorImageUri: located(uri, `${path}.pythonPackageSpec.executorImageUri`, 5) },
  });
  const workers = poolOf('worker', imageOfWorkers, 'workerPoolSpecs[1]');
  return { dialect: 'vertex-ai', pools: [poolOf('master', image, 'workerPoolSpecs[0]'), workers] };
}

describe('the runtime version', () => {
  it('is the given one, else the executor image’s, else the default', () => {
    expect(runtimeOf({}).version).toBe('2.11');
    expect(runtimeOf(runBy(EXECUTOR))).toEqual({ version: '2.8', codes: [] });
    expect(runtimeOf({ ...runBy(EXECUTOR), runtimeVersion: located('2.4', '--runtime-version') }).version).toBe('2.4');
  });

  it('is the default for an unknown executor image', () => {
    const codes = [`EXECUTOR_IMAGE_UNKNOWN ${EXECUTOR_PATH}`];
    expect(runtimeOf(runBy('gcr.io/acme/my-executor'))).toEqual({ version: '2.11', codes });
    const findings = createFindings();
    checkRuntimeVersion({ ...EMPTY_DRAFT, ...runBy('gcr.io/acme/my-executor') }, '2.11', findings);
    expect(findings.warnings[0]).toMatchObject({
      message: expect.stringContaining('installed in runtime version 2.11, not in this image'),
      remedy: expect.stringContaining('image, packages and module'),
    });
  });

  it.each([
    ['not an image', 'INVALID_IMAGE_URI'],
    ['$EXECUTOR', 'PLACEHOLDER'],
  ])('is null for the executor image "%s"', (image, code) => {
    expect(runtimeOf(runBy(image))).toEqual({ version: null, codes: [`${code} ${EXECUTOR_PATH}`] });
  });

  it('is that of the first pool', () => {
    expect(runtimeOf(runBy(EXECUTOR, EXECUTOR.replace('2-8', '2-4')))).toEqual({
      version: '2.8',
      codes: ['FIELD_WITHOUT_EFFECT workerPoolSpecs[1].pythonPackageSpec.executorImageUri'],
    });
  });

  it.each(['', '2 11', '../2', 'x'.repeat(64)])('cannot be "%s"', (text) => {
    const codes = ['INVALID_RUNTIME_VERSION trainingInput.runtimeVersion'];
    const runtimeVersion = located(text, 'trainingInput.runtimeVersion', 3);
    expect(runtimeOf({ runtimeVersion })).toEqual({ version: null, codes });
  });
});

describe('the Python version', () => {
  function check(text: string) {
    const findings = createFindings();
    const version = checkPythonVersion({ ...EMPTY_DRAFT, pythonVersion: located(text, 'pythonVersion') }, findings);
    return { version, codes: [...findings.problems, ...findings.warnings].map(({ code }) => code) };
  }

  it.each([
    ['3.7', { version: '3.7', codes: [] }],
    ['3.10', { version: '3.10', codes: [] }],
    ['2.7', { version: '2.7', codes: ['PYTHON_2'] }],
    ['3', { version: null, codes: ['INVALID_PYTHON_VERSION'] }],
    ['python3', { version: null, codes: ['INVALID_PYTHON_VERSION'] }],
    ['{{VERSION}}', { version: null, codes: ['PLACEHOLDER'] }],
  ])('%s', (text, expected) => {
    expect(check(text)).toEqual(expected);
  });

  it('is null by default', () => {
    expect(checkPythonVersion(EMPTY_DRAFT, createFindings())).toBeNull();
  });
});
