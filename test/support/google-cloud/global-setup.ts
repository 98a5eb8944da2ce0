import type { TestProject } from 'vitest/node';
import { type EmulatorHosts, startEmulators } from './emulators.ts';

declare module 'vitest' {
  // Only an interface can be augmented.
  export interface ProvidedContext {
    /** Null if there are no emulators: the tests that require them are skipped, and the reason is printed. */
    emulatorHosts: EmulatorHosts | null;
  }
}

let stop = async (): Promise<void> => {};

/** Starts Google's emulators once for all files of the project. */
export async function setup(project: TestProject): Promise<void> {
  const emulators = await startEmulators(process.env);
  if (typeof emulators === 'string') {
    process.stdout.write(`Tests that require Google's emulators are skipped: ${emulators}.\n`);
    project.provide('emulatorHosts', null);
    return;
  }
  project.provide('emulatorHosts', emulators.hosts);
  stop = emulators.stop;
}

export async function teardown(): Promise<void> {
  await stop();
}
