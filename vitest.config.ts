import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/run/longest-first.ts';
import { Reporter } from './test/support/run/reporter.ts';

/**
 * One project per kind of test: the folder says what a test costs and proves. The timeout ends a test that hangs; it is
 * about ten times the usual duration, since the machine may be busy. Files that are named `*.long.test.ts` are in the
 * project `long`, whatever their folder.
 */
function project(name: string, options: { readonly timeoutMs: number; readonly globalSetup?: string }) {
  const isLong = name === 'long';
  return {
    extends: true as const,
    test: {
      name,
      include: [isLong ? 'test/**/*.long.test.ts' : `test/${name}/**/*.test.ts`],
      exclude: isLong ? [] : ['**/*.long.test.ts'],
      testTimeout: options.timeoutMs,
      hookTimeout: options.timeoutMs,
      ...(options.globalSetup !== undefined && { globalSetup: options.globalSetup }),
    },
  };
}

export default defineConfig({
  test: {
    // Tests wait for processes that they have started: with a worker for each core, cores would be idle.
    maxWorkers: availableParallelism() + 1,
    // This limits the concurrent tests of one file.
    maxConcurrency: 3,
    // Importing the product again for each file would cost half of the CPU time of the smaller tests.
    isolate: false,
    fsModuleCache: true,
    // Google's libraries warn of their own retries, and of the metadata server that only Google's machines have.
    execArgv: ['--disable-warning=MaxListenersExceededWarning', '--disable-warning=MetadataLookupWarning'],
    reporters: [new Reporter()],
    // One line is printed for a passing file, however long its tests take.
    slowTestThreshold: Number.MAX_SAFE_INTEGER,
    sequence: { sequencer: LongestFirst },
    // Commands of tests look for running clouds here, not among those of the user.
    env: { XDG_STATE_HOME: join(tmpdir(), 'state-of-tests') },
    expect: { poll: { timeout: 60_000, interval: 20 } },
    projects: [
      project('unit', { timeoutMs: 60_000 }),
      project('contract', { timeoutMs: 120_000 }),
      project('simulation', { timeoutMs: 240_000 }),
      project('repository', { timeoutMs: 60_000 }),
      project('integration', { timeoutMs: 180_000 }),
      project('corpus', { timeoutMs: 60_000 }),
      project('google-cloud', { timeoutMs: 180_000, globalSetup: 'test/support/google-cloud/global-setup.ts' }),
      project('terraform', { timeoutMs: 180_000 }),
      project('e2e-cloud', { timeoutMs: 240_000, globalSetup: 'test/support/google-cloud/global-setup.ts' }),
      project('e2e', { timeoutMs: 180_000 }),
      project('long', { timeoutMs: 300_000 }),
    ],
  },
});
