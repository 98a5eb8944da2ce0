import type { TestProject } from 'vitest/node';
import { type EmulatorHosts, type Emulators, startEmulators } from './emulators.ts';

declare module 'vitest' {
  // Only an interface can be augmented.
  export interface ProvidedContext {
    /** Null if there are no emulators: the tests that require them are left out. */
    emulatorHosts: EmulatorHosts | null;
  }
}

let emulators: Emulators | null = null;

/** Starts Google's emulators once for all files of a project. */
export async function setup(project: TestProject): Promise<void> {
  emulators = await startEmulators(process.env);
  project.provide('emulatorHosts', emulators?.hosts ?? null);
}

export async function teardown(): Promise<void> {
  await emulators?.stop();
}
