import type { TestProject } from 'vitest/node';
import { type EmulatorHosts, type Emulators, startEmulators } from './emulators.ts';

declare module 'vitest' {
  // Only an interface can be augmented.
  export interface ProvidedContext {
    /** Null if there are no emulators: the tests that require them are left out. */
    emulatorHosts: EmulatorHosts | null;
  }
}

/** Each project loads this file by itself, and all share the emulators. */
const shared: { emulators?: Promise<Emulators | null> } = Reflect.get(process, 'dropforgeEmulators') ?? {};
Reflect.set(process, 'dropforgeEmulators', shared);

export async function setup(project: TestProject): Promise<void> {
  shared.emulators ??= startEmulators(process.env);
  project.provide('emulatorHosts', (await shared.emulators)?.hosts ?? null);
}

export async function teardown(): Promise<void> {
  await (await shared.emulators)?.stop();
}
