import type { TestProject } from 'vitest/node';
import { type EmulatorHosts, startEmulators } from './emulators.ts';

declare module 'vitest' {
  // Only an interface can be added to.
  export interface ProvidedContext {
    /** Null where there are no emulators: what needs them is left out, and the reason has been printed. */
    emulatorHosts: EmulatorHosts | null;
  }
}

let stop = async (): Promise<void> => {};

/** Starts Google's emulators once for all files of the project. */
export async function setup(project: TestProject): Promise<void> {
  const emulators = await startEmulators(process.env);
  if (typeof emulators === 'string') {
    process.stdout.write(`The tests on Google's emulators are left out: ${emulators}.\n`);
    project.provide('emulatorHosts', null);
    return;
  }
  project.provide('emulatorHosts', emulators.hosts);
  stop = emulators.stop;
}

export async function teardown(): Promise<void> {
  await stop();
}
