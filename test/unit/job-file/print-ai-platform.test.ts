import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { printAiPlatformJob } from '#shared/job-file/formats/ai-platform/print.ts';
import { anyAiPlatformDraft } from '../../support/job-file/ai-platform-draft-arbitrary.ts';
import { AI_PLATFORM_FILES, fixture, readJob, withoutLocations } from '../../support/job-file/ai-platform-files.ts';

function print(draft: JobDraft): string {
  return stringify(printAiPlatformJob(draft), { lineWidth: 0, aliasDuplicateObjects: false });
}

describe('printing an AI Platform job', () => {
  it('prints a file that reads as the same draft (property)', () => {
    const property = fc.property(anyAiPlatformDraft, (draft) => {
      const again = readJob(print(draft));
      expect(again.problems).toEqual([]);
      expect(withoutLocations(again.draft)).toEqual(withoutLocations(draft));
    });
    fc.assert(property, { numRuns: 500 });
  });

  it.each(AI_PLATFORM_FILES)('%s: prints a file that reads as the same draft without warnings', (file) => {
    const { draft } = readJob(fixture(file));
    const again = readJob(print(draft));
    expect(withoutLocations(again.draft)).toEqual(withoutLocations(draft));
    expect([...again.warnings, ...again.unsupported]).toEqual([]);
  });

  it('has fixtures to print', () => {
    expect(AI_PLATFORM_FILES.length).toBeGreaterThan(30);
  });

  it('is idempotent', () => {
    const property = fc.property(anyAiPlatformDraft, (draft) => {
      expect(print(readJob(print(draft)).draft)).toBe(print(draft));
    });
    fc.assert(property, { numRuns: 100 });
  });

  it('omits absent fields', () => {
    expect(printAiPlatformJob(EMPTY_DRAFT)).toEqual({ trainingInput: {} });
    expect(printAiPlatformJob(readJob('trainingInput: {}').draft)).toEqual({ trainingInput: {} });
  });

  it('keeps text that looks like a number, and prints counts and bounds as numbers', () => {
    const source = `
labels: {"10": "1.10", a: "true"}
trainingInput:
  runtimeVersion: 1.10
  workerCount: "2"
  hyperparameters:
    params:
      - {parameterName: a, type: DOUBLE, minValue: "1e-5", maxValue: 1}
      - {parameterName: b, type: DISCRETE, discreteValues: [1, "2", 0.50]}
      - {parameterName: c, type: CATEGORICAL, categoricalValues: [1, no]}
`;
    expect(print(readJob(source).draft)).toBe(`\
labels:
  "10": "1.10"
  a: "true"
trainingInput:
  workerCount: 2
  hyperparameters:
    params:
      - parameterName: a
        type: DOUBLE
        minValue: 0.00001
        maxValue: 1
      - parameterName: b
        type: DISCRETE
        discreteValues:
          - 1
          - 2
          - "0.50"
      - parameterName: c
        type: CATEGORICAL
        categoricalValues:
          - "1"
          - no
  runtimeVersion: "1.10"
`);
  });

  it('keeps an empty study', () => {
    expect(printAiPlatformJob(readJob(fixture('hpt-no-params.yaml')).draft)).toMatchObject({
      trainingInput: { hyperparameters: { params: [] } },
    });
  });
});
