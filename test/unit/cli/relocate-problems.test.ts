import { expect, it } from 'vitest';
import { relocateProblems } from '#cli/submit/relocate-problems.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import type { Report } from '#shared/protocol/report.ts';

const FILE = `module: trainer.task
# What is submitted has no comments, and more fields.

tune: { metric: accuracy, resume: never_was, parameters: { rate: [1, 2] } }
`;

const problemAt = (path: string, line: number) => ({
  code: 'CODE',
  message: 'It is wrong.',
  remedy: 'Fix it.',
  path,
  line,
});

it('gives problems that the cloud reports the lines of the user’s own file, or none', () => {
  const { draft } = readJobFile(FILE, { fileName: 'job.yaml' });
  if (draft === null) {
    throw new Error('The file is not a job file.');
  }
  const report: Pick<Report, 'problems' | 'warnings'> = {
    problems: [problemAt('tune.resume', 7), problemAt('name', 1)],
    warnings: [{ code: 'CODE', message: 'It is odd.', remedy: 'Look at it.', line: 9 }, problemAt('module', 2)],
  };
  const { problems, warnings } = relocateProblems(report, draft);
  expect(problems.map(({ path, line }) => [path, line])).toEqual([
    ['tune.resume', 4],
    ['name', undefined],
  ]);
  expect(warnings.map(({ path, line }) => [path, line])).toEqual([
    [undefined, undefined],
    ['module', 1],
  ]);
});
