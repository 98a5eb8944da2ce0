import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HOOK = join(ROOT, '.githooks/commit-msg');
/** Earlier ones were checked when they were among the last. */
const COMMITS_MAX = 200;
const directory = mkdtempSync(join(tmpdir(), 'dropforge-commit-msg-'));

afterAll(() => rmSync(directory, { recursive: true }));

/** The text that the hook prints about a message; empty if it accepts it. */
function problemOf(message: string): string {
  const path = join(directory, 'COMMIT_EDITMSG');
  writeFileSync(path, message);
  const { status, stderr } = spawnSync(HOOK, [path], { encoding: 'utf8' });
  return status === 0 ? '' : stderr;
}

function git(...args: readonly string[]): readonly string[] {
  const lines = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line !== '');
}

describe('the commit-msg hook', () => {
  it.each([
    'provision: retry a rate-limited create',
    'vm-agent/storage: resume uploads after an expired session\n\nA body, with more than seventy-two characters in a single line of it.',
    'Merge branch "main"',
    'fixup! provision: retry a rate-limited create',
  ])('accepts %j', (message) => {
    expect(problemOf(message)).toBe('');
  });

  it.each([
    ['Let the program have no end of its own', /not "area: imperative"/],
    ['Provision: retry', /not "area: imperative"/],
    ['provision: retry a create.', /not "area: imperative"/],
    [`provision: ${'x'.repeat(62)}`, /more than 72 characters/],
    ['', /not "area: imperative"/],
    ['provision: retry a create\nthat was rate-limited', /no empty line/],
  ])('rejects %j', (message, problem) => {
    expect(problemOf(message)).toMatch(problem);
  });
});

it(`each of the last ${COMMITS_MAX} commits since the hook was added has such a subject`, () => {
  const [added] = git('log', '--format=%H', '--diff-filter=A', '--', '.githooks/commit-msg');
  // Not committed yet, or not in a shallow clone: then there is no commit to check.
  const subjects =
    added === undefined ? [] : git('log', '--no-merges', `-${COMMITS_MAX}`, '--format=%s', `${added}..HEAD`);
  const paths = subjects.map((subject, index) => {
    const path = join(directory, String(index));
    writeFileSync(path, subject);
    return path;
  });
  // From a small process, of which copies are cheap.
  const checkAll = 'hook=$1; shift; for message; do "$hook" "$message"; done';
  const { stderr } = spawnSync('sh', ['-c', checkAll, 'sh', HOOK, ...paths], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(subjects.filter((subject) => /^(fixup|squash)! /.test(subject))).toEqual([]);
});
