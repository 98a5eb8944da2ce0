import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkJobId, checkLabels, suggestJobId } from '#shared/job-file/validation/check-names.ts';
import { located } from '../../support/job-file/located.ts';
import { STUDY_DRAFT } from '../../support/job-file/study-drafts.ts';

const VERTEX: JobDraft = { ...EMPTY_DRAFT, dialect: 'vertex-ai' };

function idOf(draft: Partial<JobDraft>, jobIdDefault?: string) {
  const findings = createFindings();
  const jobId = checkJobId({ ...EMPTY_DRAFT, ...draft }, jobIdDefault, findings);
  const codes = [...findings.problems, ...findings.warnings].map(({ code, path }) => `${code} ${path}`);
  return { jobId, codes };
}

function named(displayName: string) {
  return { ...VERTEX, displayName: located(displayName, 'displayName', 1) };
}

describe('the job id', () => {
  it('takes precedence over the display name and the default', () => {
    const draft = { ...named('shown'), jobId: located('written', 'JOB') };
    expect(idOf(draft, 'given')).toEqual({ jobId: 'written', codes: [] });
  });

  it('defaults to the context’s', () => {
    expect(idOf({}, 'given')).toEqual({ jobId: 'given', codes: [] });
    expect(idOf(named(''), 'given')).toEqual({ jobId: 'given', codes: [] });
  });

  it.each([
    ['ai-platform', 'jobId'],
    ['vertex-ai', 'displayName'],
    ['dropforge', 'name'],
  ] as const)('is missed in %s under the name %s', (dialect, path) => {
    expect(idOf({ dialect })).toEqual({ jobId: null, codes: [`MISSING_FIELD ${path}`] });
  });

  it.each(['two words', '1st', 'dash-ed', 'a'.repeat(129), ''])('cannot be "%s"', (text) => {
    expect(idOf({ jobId: located(text, 'jobId', 1) })).toEqual({ jobId: null, codes: ['INVALID_JOB_ID jobId'] });
  });

  it('is reported as PLACEHOLDER if it is one', () => {
    expect(idOf({ jobId: located('run_{{STAMP}}', 'jobId', 1) }).codes).toEqual(['PLACEHOLDER jobId']);
    expect(idOf(named('$NAME')).codes).toEqual(['PLACEHOLDER displayName']);
  });
});

describe('the id of a tuning job', () => {
  it.each(['search_trial_3', 'a_trial_10000'])('is never that of a trial: %s', (text) => {
    expect(idOf({ jobId: located(text, 'jobId', 1) })).toEqual({ jobId: null, codes: ['RESERVED_JOB_ID jobId'] });
    expect(idOf(named(text.replaceAll('_', ' '))).codes).toEqual(['RESERVED_JOB_ID displayName']);
  });

  it.each(['search_trial', 'trial_3', 'search_trial_x', 'search_trials_3'])('can be similar: %s', (text) => {
    expect(idOf({ jobId: located(text, 'jobId', 1) })).toEqual({ jobId: text, codes: [] });
  });

  it('leaves room for the ids of its trials', () => {
    const ofLength = (length: number) => ({ jobId: located('a'.repeat(length), 'jobId', 1) });
    expect(idOf({ ...ofLength(115), study: STUDY_DRAFT }).codes).toEqual([]);
    expect(idOf({ ...ofLength(116), study: STUDY_DRAFT }).codes).toEqual(['INVALID_JOB_ID jobId']);
    expect(idOf(ofLength(116)).codes).toEqual([]);
    expect(idOf({ ...named('a'.repeat(128)), study: STUDY_DRAFT }).jobId).toBe('a'.repeat(115));
  });
});

describe('the display name', () => {
  it('is the job id if it is a valid one', () => {
    expect(idOf(named('digits_1'))).toEqual({ jobId: 'digits_1', codes: [] });
  });

  it.each([
    ['My digits, once more', 'My_digits_once_more'],
    ['2024 run', 'job_2024_run'],
    ['ночь', 'job'],
  ])('is converted to a valid job id: %s', (text, jobId) => {
    expect(idOf(named(text))).toEqual({ jobId, codes: ['JOB_ID_FROM_DISPLAY_NAME displayName'] });
  });

  it('may have 128 characters of any number of bytes', () => {
    expect(idOf(named('😀'.repeat(128))).jobId).toBe('job');
    expect(idOf(named('😀'.repeat(129)))).toEqual({ jobId: null, codes: ['DISPLAY_NAME_TOO_LONG displayName'] });
  });

  it('always converts to a valid job id', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 300 }), (text) => {
        expect(suggestJobId(text)).toMatch(JOB_ID_PATTERN);
      }),
    );
  });
});

describe('labels', () => {
  function check(labels: Readonly<Record<string, string>>) {
    const findings = createFindings();
    const drafts = Object.entries(labels).map(([key, text]) => located({ key, text }, `labels.${key}`, 2));
    return { labels: checkLabels({ ...EMPTY_DRAFT, labels: drafts }, findings), findings };
  }

  it('are kept unchanged, in any alphabet', () => {
    const labels = { team: 'vision', größe: '10_x-y', empty: '' };
    expect(check(labels).labels).toEqual(labels);
  });

  it.each([
    ['Team', 'vision'],
    ['team', 'Vision'],
    ['1st', 'x'],
    ['', 'x'],
    ['team', 'a'.repeat(64)],
  ])('cannot be %s: %s', (key, text) => {
    const { labels, findings } = check({ valid: 'x', [key]: text });
    expect(labels).toBeNull();
    expect(findings.problems).toMatchObject([{ code: 'INVALID_LABEL', path: `labels.${key}`, line: 2 }]);
  });

  it('with a placeholder are reported as PLACEHOLDER', () => {
    expect(check({ team: '{{TEAM}}' }).findings.problems).toMatchObject([{ code: 'PLACEHOLDER' }]);
  });

  it.each(['managed-by', 'dropforge', 'dropforge-job-1', 'dropforge_team'])(
    'cannot be %s, which identifies VMs',
    (key) => {
      const { labels, findings } = check({ valid: 'x', [key]: 'x' });
      expect(labels).toBeNull();
      expect(findings.problems).toMatchObject([{ code: 'RESERVED_LABEL', path: `labels.${key}`, line: 2 }]);
    },
  );

  it('are at most 56, because Dropforge uses 8 of a VM’s 64', () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
    expect(check(many(56)).labels).toEqual(many(56));
    expect(check(many(57)).findings.problems).toMatchObject([{ code: 'TOO_MANY_LABELS', path: 'labels' }]);
  });
});
