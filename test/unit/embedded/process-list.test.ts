import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  listFromProc,
  listFromPs,
  listProcesses,
  type ProcessInfo,
  readProcessStart,
} from '../../../infra/embedded/compute-engine/vms/process-list.ts';

type Source = readonly [string, () => Promise<readonly ProcessInfo[]>, string];

/** The sources available on this machine; every machine has at least one. */
const SOURCES: readonly Source[] = [
  ...(existsSync('/bin/ps') ? [['ps', listFromPs, ': command-mark)'] as const] : []),
  ...(existsSync('/proc/self/stat') ? [['/proc', listFromProc, '\0MARK=environment-mark\0'] as const] : []),
];

/** Starts a session leader with a mark in its environment and its command line. */
async function withMarked(look: (pid: number) => Promise<void>): Promise<void> {
  const script = 'echo ready; sleep 60; ": command-mark)"';
  const child = spawn('sh', ['-c', script], {
    detached: true,
    env: { MARK: 'environment-mark' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(child.stdout, 'data');
    await look(Number(child.pid));
  } finally {
    process.kill(-Number(child.pid), 'SIGKILL');
  }
  await once(child, 'exit');
  expect(readProcessStart(Number(child.pid))).toBeNull();
}

describe('listing processes', () => {
  it.each(SOURCES)('reads parents, groups, sessions and marks from %s', (_, list, mark) =>
    withMarked(async (pid) => {
      const info = (await list()).find((candidate) => candidate.pid === pid);
      expect(info).toMatchObject({ parentPid: process.pid, groupId: pid, sessionId: pid });
      expect(info?.description).toContain(mark);
    }),
  );

  it('returns the same start time in a list as for a single process', async () => {
    const own = (await listProcesses()).find(({ pid }) => pid === process.pid);
    expect(own?.start).toBe(readProcessStart(process.pid));
  });

  it('distinguishes a running process from a missing one and from another one', () => {
    expect(readProcessStart(process.pid)).toMatch(/./);
    expect(readProcessStart(process.pid)).toBe(readProcessStart(process.pid));
    expect(readProcessStart(process.pid)).not.toBe(readProcessStart(process.ppid));
    expect(readProcessStart(2 ** 30)).toBeNull();
  });
});
