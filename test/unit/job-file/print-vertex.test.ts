import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { EMPTY_DRAFT, emptyPool, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { printVertexJob } from '#shared/job-file/formats/vertex-ai/print.ts';
import { readVertexJob } from '#shared/job-file/formats/vertex-ai/read.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { parseSource } from '#shared/job-file/parser/parse-source.ts';
import { anyVertexDraft, withoutLocations } from '../../support/job-file/vertex-draft-arbitrary.ts';

const FOLDER = new URL('../../fixtures/job-files/', import.meta.url);

const NOTHING: JobDraft = { ...EMPTY_DRAFT, dialect: 'vertex-ai' };

function read(text: string) {
  const { root, problems } = parseSource(text, 'job.yaml');
  const findings = createFindings();
  findings.problems.push(...problems);
  const node = root ?? { kind: 'SCALAR', line: 1, value: null, text: '' };
  return { draft: readVertexJob({ path: '', node }, findings), findings };
}

function print(draft: JobDraft): string {
  return stringify(printVertexJob(draft), { lineWidth: 0, aliasDuplicateObjects: false });
}

describe('printing a Vertex AI job', () => {
  it('prints a file that reads as the same draft without findings', () => {
    const property = fc.property(anyVertexDraft, (draft) => {
      const again = read(print(draft));
      expect(again.findings).toEqual(createFindings());
      expect(withoutLocations(again.draft)).toEqual(withoutLocations(draft));
    });
    fc.assert(property, { numRuns: 500 });
  });

  const fixtures = readdirSync(FOLDER).filter((name) => name.startsWith('vertex-'));
  const validFiles = fixtures.filter(
    (name) => read(readFileSync(new URL(name, FOLDER), 'utf8')).findings.problems.length === 0,
  );

  it('has fixtures', () => {
    expect(validFiles.length).toBeGreaterThan(6);
  });

  it.each(validFiles)('prints %s as a file that reads as the same draft', (name) => {
    const { draft } = read(readFileSync(new URL(name, FOLDER), 'utf8'));
    const again = read(print(draft));
    expect(again.findings).toEqual(createFindings());
    expect(withoutLocations(again.draft)).toEqual(withoutLocations(draft));
  });

  it('prints a CustomJob, and with a study a HyperparameterTuningJob', () => {
    expect(Object.keys(printVertexJob(read('{jobSpec: {}, displayName: a}').draft))).toEqual([
      'displayName',
      'jobSpec',
    ]);
    expect(printVertexJob(read('{studySpec: {}, maxTrialCount: "3"}').draft)).toEqual({
      studySpec: {},
      maxTrialCount: 3,
      trialJobSpec: {},
    });
  });

  it('omits absent fields except for the one that identifies the format', () => {
    expect(printVertexJob(NOTHING)).toEqual({ jobSpec: {} });
  });

  it('keeps the position of an absent pool', () => {
    const pools = [emptyPool('master', ''), emptyPool('worker', '')];
    expect(printVertexJob({ ...NOTHING, pools })).toEqual({ jobSpec: { workerPoolSpecs: [{}, {}] } });
  });
});
