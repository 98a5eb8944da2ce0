import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TestCase, TestModule } from 'vitest/node';
import { DefaultReporter } from 'vitest/node';

/** Seconds of each file of the last run, by path, for `npm run test:times`. */
export const TIMES_FILE = 'node_modules/.cache/dropforge-test-times.json';

/**
 * A line for each file with its time, each failure when it happens, all failures again at the end, then a row for each
 * project and what was left out for want of a tool. The output of tests that pass is not shown.
 */
export class Reporter extends DefaultReporter {
  readonly #leftOut = new Set<string>();

  constructor() {
    super({ silent: 'passed-only', summary: false });
  }

  override onTestCaseResult(test: TestCase): void {
    super.onTestCaseResult(test);
    const result = test.result();
    if (result.state === 'skipped' && result.note !== undefined) {
      this.#leftOut.add(`${result.note}: ${test.parent.type === 'suite' ? test.parent.fullName : test.fullName}`);
    }
    if (result.state === 'failed') {
      const causes = result.errors.map(({ message, diff }) => [message, diff].filter(Boolean).join('\n'));
      this.log(['', `FAILED ${test.module.relativeModuleId}: ${test.fullName}`, ...causes, ''].join('\n'));
    }
  }

  override onTestRunEnd(...args: Parameters<DefaultReporter['onTestRunEnd']>): void {
    super.onTestRunEnd(...args);
    const times = args[0].map((file) => [file.relativeModuleId, secondsOf(file)] as const);
    mkdirSync(dirname(TIMES_FILE), { recursive: true });
    writeFileSync(TIMES_FILE, JSON.stringify(Object.fromEntries(times)));
    for (const row of summarizeProjects(args[0])) {
      this.log(row);
    }
    if (this.#leftOut.size > 0) {
      this.log(
        ['', 'Left out for want of a tool:', ...[...this.#leftOut].sort().map((line) => `  ${line}`)].join('\n'),
      );
    }
  }
}

function summarizeProjects(modules: readonly TestModule[]): readonly string[] {
  const byProject = Map.groupBy(modules, ({ project }) => project.name);
  const rows = [...byProject].map(([name, files]) => {
    const tests = files.flatMap((file) => [...file.children.allTests()]);
    const countOf = (state: string) => tests.filter((test) => test.result().state === state).length;
    const seconds = files.reduce((sum, file) => sum + secondsOf(file), 0);
    return [name, files.length, countOf('passed'), countOf('failed'), countOf('skipped'), seconds.toFixed(1)];
  });
  const table = [['project', 'files', 'passed', 'failed', 'skipped', 'seconds'], ...rows];
  return table.map((cells) =>
    cells.map((cell, column) => String(cell)[column === 0 ? 'padEnd' : 'padStart'](13)).join(''),
  );
}

function secondsOf(file: TestModule): number {
  const { prepareDuration, environmentSetupDuration, setupDuration, collectDuration, duration } = file.diagnostic();
  return (prepareDuration + environmentSetupDuration + setupDuration + collectDuration + duration) / 1_000;
}
