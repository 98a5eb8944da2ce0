import { describe, expect, it } from 'vitest';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import { CONTEXT } from '../../support/job-file/context.ts';

function check(text: string) {
  const { draft } = readJobFile(text, { fileName: 'job.yaml' });
  if (draft === null) {
    throw new Error('The file is in no known format.');
  }
  const { problems, warnings, spec } = checkJob(draft, CONTEXT);
  const codes = [...problems, ...warnings].map(({ code, path, line }) => `${code} ${path}:${line}`);
  return { codes, study: spec?.study, messages: [...problems, ...warnings].map(({ message }) => message) };
}

const OWN = (job: string, tune: string) => `name: search
module: trainer.task
packages: [gs://lab/t.tar.gz]
${job}
tune:
  metric: accuracy
  trials: 5
  ${tune}
  parameters: {lr: {min: 0.01, max: 1, scale: log}}
`;

const AI_PLATFORM = (input: string) => `jobId: search
trainingInput:
  scaleTier: BASIC
  region: us-central1
  packageUris: [gs://lab/t.tar.gz]
  pythonModule: trainer.task
  ${input}
  hyperparameters:
    hyperparameterMetricTag: accuracy
    maxTrials: 5
    params: [{parameterName: lr, type: DOUBLE, minValue: 0.1, maxValue: 1}]
`;

describe('a tuning job', () => {
  it('cannot resume itself', () => {
    expect(check(OWN('machine: n1-standard-4', 'resume: search')).codes).toEqual(['RESUMES_ITSELF tune.resume:8']);
    expect(check(OWN('machine: n1-standard-4', 'resume: search_0')).codes).toEqual([]);
  });

  it.each([
    ['as two arguments', 'args: [--epochs, "3", --lr, "0.1"]', 'args[2]'],
    ['as one argument', 'args: [--lr=0.1]', 'args[0]'],
  ])('warns of a parameter that is also in the arguments, %s', (_, args, path) => {
    expect(check(OWN(args, 'parallel: 1')).codes).toEqual([`TUNED_ARGUMENT ${path}:4`]);
    expect(check(AI_PLATFORM(args)).codes).toEqual([`TUNED_ARGUMENT trainingInput.${path}:7`]);
  });

  it.each(['[--lrate=1]', '[lr, "1"]', '[--epochs, "3"]'])('accepts other arguments: %s', (args) => {
    expect(check(OWN(`args: ${args}`, 'parallel: 1')).codes).toEqual([]);
  });

  it('finds conditional parameters in the arguments', () => {
    const text = OWN('args: [--momentum=0.9]', 'parallel: 1').replace(
      'parameters: {',
      'parameters: {momentum: {min: 0, max: 1, when: {optimizer: sgd}}, optimizer: [sgd, adam], ',
    );
    expect(check(text).codes).toEqual(['TUNED_ARGUMENT args[0]:4']);
  });

  it('cannot limit the cost of machines whose price is unknown', () => {
    const known = check(OWN('machine: n1-standard-4', 'maxCost: 20'));
    expect([known.codes, known.study?.maxCostUsd]).toEqual([[], 20]);
    const unknown = check(OWN('machine: g4-standard-48', 'maxCost: 20'));
    expect(unknown.codes).toEqual(['PRICE_UNKNOWN tune.maxCost:8']);
    expect(unknown.messages[0]).toContain('the price of g4-standard-48 is not known');
  });

  it('takes a limit of the cost from the files of AI Platform and Vertex AI', () => {
    const text = AI_PLATFORM('args: []').replace('maxTrials: 5', 'maxTrials: 5\n    dropforgeMaxCost: 7');
    expect(check(text).study?.maxCostUsd).toBe(7);
  });
});
