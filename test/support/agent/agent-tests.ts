import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';

const AGENT = new URL('../../../infra/vm-agent/', import.meta.url);

/** The files of the agent's own tests, which are written in Python. */
export const AGENT_TESTS: readonly string[] = readdirSync(new URL('tests', AGENT)).filter((name) =>
  /^test_.*\.py$/.test(name),
);

/** Resolves with the number of tests in the files that match, all of which have passed. */
export async function runAgentTests(python: string, pattern: string): Promise<number> {
  const argv = ['-B', '-m', 'unittest', 'discover', '-s', 'tests', '-p', pattern];
  const { stderr } = await promisify(execFile)(python, argv, { cwd: AGENT, maxBuffer: 2 ** 28 });
  return Number(/^Ran (\d+) tests? in/m.exec(stderr)?.[1] ?? 0);
}
