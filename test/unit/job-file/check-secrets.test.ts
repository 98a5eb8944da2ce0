import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT } from '#shared/job-file/draft/job-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import { checkSecrets } from '#shared/job-file/validation/check-secrets.ts';
import { SERVICE_VARIABLES } from '#shared/protocol/service-variables.ts';
import { CONTEXT } from '../../support/job-file/context.ts';
import { located } from '../../support/job-file/located.ts';

function check(secrets: Readonly<Record<string, string>>) {
  const findings = createFindings();
  const written = Object.entries(secrets).map(([key, text]) => located({ key, text }, `secrets.${key}`, 7));
  return { value: checkSecrets({ ...EMPTY_DRAFT, secrets: written }, findings), problems: findings.problems };
}

function validate(text: string) {
  const { draft } = readJobFile(text, { fileName: 'job.yaml' });
  return draft === null ? null : checkJob(draft, CONTEXT);
}

describe('the secrets of a job', () => {
  it.each([
    ['wandb-key', { project: null, secret: 'wandb-key', version: 'latest' }],
    ['WANDB_API_KEY', { project: null, secret: 'WANDB_API_KEY', version: 'latest' }],
    ['hf-token:3', { project: null, secret: 'hf-token', version: '3' }],
    ['hf-token:latest', { project: null, secret: 'hf-token', version: 'latest' }],
    ['hf-token:prod_2', { project: null, secret: 'hf-token', version: 'prod_2' }],
    ['projects/acme/secrets/hf', { project: 'acme', secret: 'hf', version: 'latest' }],
    ['projects/example.com:acme/secrets/hf', { project: 'example.com:acme', secret: 'hf', version: 'latest' }],
    ['projects/1234/secrets/hf/versions/3', { project: '1234', secret: 'hf', version: '3' }],
  ])('accept the reference %s', (text, reference) => {
    expect(check({ WANDB_API_KEY: text })).toEqual({ value: { WANDB_API_KEY: reference }, problems: [] });
  });

  it.each([
    '',
    'hf token',
    'hf-token:0',
    'hf-token:',
    'hf-token:3:4',
    'secrets/hf',
    'projects/acme/secrets/hf:3',
    'projects/acme/locations/europe-west4/secrets/hf',
    'x'.repeat(256),
    'pa$sword/1',
  ])('reject the reference "%s" without quoting it', (text) => {
    const { value, problems } = check({ HF_TOKEN: text });
    expect(value).toBe(null);
    expect(problems).toMatchObject([{ code: 'INVALID_SECRET', path: 'secrets.HF_TOKEN', line: 7 }]);
    expect(problems[0]?.message).toBe('The value of "HF_TOKEN" is not a valid name of a secret.');
    expect(problems[0]?.remedy).toContain('hf-token:3');
  });

  it('must not be in the job file: a token is rejected and not quoted', () => {
    const token = `hf_${'a1B2'.repeat(9).slice(0, 34)}`;
    const { value, problems } = check({ HF_TOKEN: token });
    expect(value).toBe(null);
    expect(problems).toMatchObject([{ code: 'SECRET_IN_JOB_FILE', path: 'secrets.HF_TOKEN' }]);
    expect(problems[0]?.message).toBe('"HF_TOKEN" contains a Hugging Face token instead of the name of a secret.');
    expect(JSON.stringify(problems)).not.toContain(token);
  });

  it('report a placeholder as PLACEHOLDER', () => {
    expect(check({ HF_TOKEN: '$HF_SECRET' }).problems).toMatchObject([{ code: 'PLACEHOLDER' }]);
  });

  it.each([
    ['1ST', 'INVALID_ENVIRONMENT'],
    ['HF-TOKEN', 'INVALID_ENVIRONMENT'],
    ['/etc/key', 'INVALID_ENVIRONMENT'],
    ['', 'INVALID_ENVIRONMENT'],
    ['RANK', 'RESERVED_VARIABLE'],
    ['PATH', 'RESERVED_VARIABLE'],
    ['AIP_MODEL_DIR', 'RESERVED_VARIABLE'],
    ['DROPFORGE_VM', 'RESERVED_VARIABLE'],
  ])('reject the environment variable "%s"', (name, code) => {
    expect(check({ [name]: 'hf-token' }).problems).toMatchObject([{ code, path: `secrets.${name}`, line: 7 }]);
  });

  it('are at most 20', () => {
    const many = (count: number) =>
      check(Object.fromEntries(Array.from({ length: count }, (_, index) => [`KEY_${index}`, 'key'])));
    expect(many(20).problems).toEqual([]);
    expect(many(21)).toMatchObject({ value: null, problems: [{ code: 'TOO_MANY_SECRETS', path: 'secrets.KEY_0' }] });
  });

  it.each([
    ['Dropforge’s own form', 'module: a.b\nenv: {HF_TOKEN: abcd}\nsecrets:\n  HF_TOKEN: hf-token\n'],
    [
      'Vertex AI’s second pool',
      'workerPoolSpecs: [{}, {pythonPackageSpec: {env: [{name: HF_TOKEN, value: a}]}}]\ndropforgeSecrets:\n\n  HF_TOKEN: hf-token\n',
    ],
  ])('reject a variable that the environment also sets, in %s', (_, text) => {
    const problems = validate(text)?.problems ?? [];
    expect(problems.filter(({ code }) => code === 'VARIABLE_TWICE')).toMatchObject([{ line: 4 }]);
  });

  it.each([
    ['AI Platform', 'trainingInput:\n  pythonModule: a.b\n  dropforgeSecrets: {HF_TOKEN: hf-token}\n'],
    ['Vertex AI', 'workerPoolSpecs: []\ndropforgeSecrets: {HF_TOKEN: hf-token}\n'],
  ])('can be given in a file of %s, in a field that its API does not have', (_, text) => {
    const { draft, problems } = readJobFile(text, { fileName: 'job.yaml' });
    expect(problems).toEqual([]);
    expect(draft?.secrets).toMatchObject([{ value: { key: 'HF_TOKEN', text: 'hf-token' } }]);
  });

  it('are stored in the job as references only', () => {
    const { spec } = validate('name: a\nmodule: a.b\npackages: [a.tar.gz]\nsecrets: {HF_TOKEN: hf-token:3}\n') ?? {};
    expect(spec?.secrets).toEqual({ HF_TOKEN: { project: null, secret: 'hf-token', version: '3' } });
    expect(spec?.program).toMatchObject({ environment: {} });
  });
});

describe('the variables set by the agent', () => {
  it('match the golden file that the agent’s tests use', async () => {
    const golden = await import('#shared/protocol/golden/service-variables.json', { with: { type: 'json' } });
    expect(golden.default).toEqual(SERVICE_VARIABLES);
  });
});
