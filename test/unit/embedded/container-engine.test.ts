import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describePodmanAlone, hasContainerEngine } from '#infra/embedded/container-engine.ts';

const folder = await mkdtemp(join(tmpdir(), 'dropforge-engine-'));
const environment = { PATH: folder, DROPFORGE_ENGINE_ENVIRONMENT: '{"DOCKER_HOST":"unix:///own.sock"}' };

afterAll(() => rm(folder, { recursive: true }));

async function install(name: string, script: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, name), 0o755);
}

it('an engine is the command docker if its daemon answers, and a machine with Podman alone gets advice', async () => {
  expect([await hasContainerEngine(environment), describePodmanAlone(environment)]).toEqual([false, null]);
  await install('podman', 'echo 4.3.1');
  expect(await hasContainerEngine(environment)).toBe(false);
  expect(describePodmanAlone(environment)).toMatch(/rejected: .* has Podman .*; install podman-docker or Docker$/);
  await install('docker', 'echo "Cannot connect to the Docker daemon" >&2; exit 1');
  expect([await hasContainerEngine(environment), describePodmanAlone(environment)]).toEqual([false, null]);
  await install('docker', '[ "$DOCKER_HOST" = unix:///own.sock ] && echo 28.2.2');
  expect(await hasContainerEngine(environment)).toBe(true);
});
