import { expect, it } from 'vitest';
import { containsUserFolders, isInUserFolder, normalizeEmail, reachesOtherUsers } from '#shared/domain/user-folder.ts';

const ADA = 'ada@example.com';

it.each([
  'gs://jobs/users/ada@example.com/digits',
  'gs://other/users/ada@example.com/digits',
  'gs://jobs/users/ada@example.com/deep/digits/3',
])('%s is in the folder of its user', (jobDir) => {
  expect(isInUserFolder(jobDir, ADA)).toBe(true);
  expect(reachesOtherUsers(jobDir, ADA)).toBe(false);
});

it.each([
  'gs://jobs',
  'gs://jobs/',
  'gs://jobs/users',
  'gs://jobs/users/',
  'gs://jobs/users/eve@example.com/digits',
  'gs://jobs/users/ada@example.com.evil.example/digits',
  'gs://jobs/users/ada+1@example.com/digits',
  'gs://jobs/users/Ada@example.com/digits',
  'gs://jobs/users/ada%40example.com/digits',
])('%s reaches the files of others', (jobDir) => {
  expect(isInUserFolder(jobDir, ADA)).toBe(false);
  expect(reachesOtherUsers(jobDir, ADA)).toBe(true);
});

it.each([
  'gs://jobs/digits',
  'gs://jobs//users/ada@example.com/digits',
  'gs://jobs/Users/ada@example.com/digits',
  'gs://jobs/users/ada@example.com',
  'gs://jobs/users/ada@example.com/',
  'gs://jobs/users/ada@example.com//digits',
  'gs://jobs/users/ada@example.com/../eve@example.com/digits',
  'gs://jobs/users/ada@example.com/./digits',
])('%s is not a directory below the folder of its user', (jobDir) => {
  expect(isInUserFolder(jobDir, ADA)).toBe(false);
});

it('a directory above all folders contains them', () => {
  expect(['gs://jobs', 'gs://jobs/', 'gs://jobs/users'].map(containsUserFolders)).toEqual([true, true, true]);
  expect(['gs://jobs/digits', 'gs://jobs/users_2', 'gs://jobs//users'].map(containsUserFolders)).toEqual([
    false,
    false,
    false,
  ]);
});

it.each([
  ['Ada@Example.com', 'ada@example.com'],
  ['a.d+a_1@example.com', 'a.d+a_1@example.com'],
  // Its lower case is an ASCII k: it would be another user's address.
  ['\u212Aim@example.com', null],
  ['ada@example.com/../eve@example.com', null],
  ['eve@example.com@ada@example.com', null],
  ['ada@example.com ', null],
  ['ada@example.com\n', null],
  ['ada,ro@example.com', null],
  ['ada', null],
  ['', null],
])('the e-mail address %j is %j', (given, email) => {
  expect(normalizeEmail(given)).toBe(email);
});
