import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT } from '#shared/job-file/draft/job-draft.ts';
import { parseStorageUri, printStorageUri } from '#shared/job-file/draft/storage-uri.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkJobDir } from '#shared/job-file/validation/check-job-dir.ts';
import { CONTEXT } from '../../support/job-file/context.ts';
import { located } from '../../support/job-file/located.ts';

function check(text: string | undefined, jobId: string | null = 'digits') {
  const findings = createFindings();
  const draft = { ...EMPTY_DRAFT, jobDir: text === undefined ? undefined : located(text, 'trainingInput.jobDir', 4) };
  const jobDir = checkJobDir(draft, { context: CONTEXT, jobId }, findings);
  return { jobDir, problems: findings.problems, warnings: findings.warnings };
}

describe('the job directory', () => {
  it('defaults to a folder named by the job id, or null without a job id', () => {
    expect(check(undefined).jobDir).toBe('gs://jobs/all/digits');
    expect(check(undefined, null)).toEqual({ jobDir: null, problems: [], warnings: [] });
  });

  it.each([
    ['gs://bkt', 'gs://bkt'],
    ['gs://bkt/', 'gs://bkt'],
    ['gs://bkt/a/b', 'gs://bkt/a/b'],
    ['gs://bkt/a/b/', 'gs://bkt/a/b'],
    ['gs://bkt/a/b//', 'gs://bkt/a/b'],
    ['gs://bkt/UPPER case', 'gs://bkt/UPPER case'],
  ])('%s becomes %s', (text, jobDir) => {
    expect(check(text)).toEqual({ jobDir, problems: [], warnings: [] });
  });

  it.each(['gs://bkt//a', 'gs://bkt/a//b'])('%s is kept, with a warning', (text) => {
    const { jobDir, warnings } = check(text);
    expect(jobDir).toBe(text);
    expect(warnings).toMatchObject([{ code: 'EMPTY_PATH_PART', path: 'trainingInput.jobDir', line: 4 }]);
  });

  it.each([
    ['', 'INVALID_JOB_DIR'],
    ['/local/dir', 'INVALID_JOB_DIR'],
    ['s3://bkt/a', 'INVALID_JOB_DIR'],
    ['gs://b/a', 'INVALID_JOB_DIR'],
    ['gs://bkt/../a', 'INVALID_JOB_DIR'],
    ['gs://bkt/./a', 'INVALID_JOB_DIR'],
    ['gs://bkt/a*', 'INVALID_JOB_DIR'],
    ['gs://bkt//../a', 'INVALID_JOB_DIR'],
    [`gs://bkt/${'x'.repeat(513)}`, 'INVALID_JOB_DIR'],
    ['gs://uploads/a', 'JOB_DIR_IN_UPLOAD_BUCKET'],
    ['gs://uploads//a', 'JOB_DIR_IN_UPLOAD_BUCKET'],
    ['$JOB_DIR/', 'PLACEHOLDER'],
    ['JOB_DIR', 'PLACEHOLDER'],
    ['gs://{BUCKET}/a', 'PLACEHOLDER'],
    ['gs://BUCKET_NAME/a', 'PLACEHOLDER'],
    ['gs://bkt/{{NAME}}/a', 'PLACEHOLDER'],
  ])('rejects %s: %s', (text, code) => {
    const { jobDir, problems } = check(text);
    expect(jobDir).toBeNull();
    expect(problems).toMatchObject([{ code, path: 'trainingInput.jobDir', line: 4 }]);
  });

  it('names the placeholder in the message as written', () => {
    expect(check('gs://{BUCKET}/a').problems[0]?.message).toContain('placeholder {BUCKET}');
    expect(check('gs://MY_BUCKET/a').problems[0]?.message).toContain('placeholder MY_BUCKET');
  });

  it('is parsed in linear time, however many slashes it contains or ends with', () => {
    const slashes = `gs://bkt/${'/'.repeat(400)}a${'/'.repeat(200_000)}`;
    const place = parseStorageUri(slashes);
    expect('fault' in place ? place.fault : printStorageUri(place)).toBe(`gs://bkt/${'/'.repeat(400)}a`);
  });
});
