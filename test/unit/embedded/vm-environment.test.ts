import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { vmEnvironmentOf } from '../../../infra/embedded/compute-engine/vms/environment.ts';

const VM = { instanceId: '1234', directory: '/vms/a-1234', metadataPort: 4711 };

describe('the environment of a VM', () => {
  let home: string;

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'dropforge-home-'));
  });
  afterEach(() => rm(home, { recursive: true }));

  it('has exactly these variables on a machine without special settings', () => {
    const host = {
      PATH: '/usr/bin',
      HOME: home,
      AWS_SECRET_ACCESS_KEY: 'secret',
      PYTHONPATH: '/mine',
      TMPDIR: '/elsewhere',
    };
    expect(vmEnvironmentOf(host, VM)).toEqual({
      PATH: '/vms/a-1234/bin:/usr/bin',
      HOME: '/vms/a-1234/home',
      TMPDIR: '/vms/a-1234/tmp',
      LANG: 'C.UTF-8',
      DROPFORGE_HOME: '/vms/a-1234/disk',
      DROPFORGE_VM: '1234',
      GCE_METADATA_HOST: '127.0.0.1:4711',
      GCE_METADATA_IP: '127.0.0.1:4711',
      no_proxy: '127.0.0.1,localhost',
      NO_PROXY: '127.0.0.1,localhost',
    });
  });

  it('inherits how this machine reaches packages: pip, proxies and certificates', () => {
    const passed = {
      PIP_INDEX_URL: 'https://index.test',
      https_proxy: 'http://proxy:1',
      HTTP_PROXY: 'x',
      SSL_CERT_FILE: '/ca',
    };
    expect(vmEnvironmentOf({ ...passed, HOME: home }, VM)).toMatchObject(passed);
  });

  it('excludes the servers on this machine from proxies', () => {
    expect(vmEnvironmentOf({ NO_PROXY: 'intranet.test' }, VM)).toMatchObject({
      no_proxy: 'intranet.test,127.0.0.1,localhost',
      NO_PROXY: 'intranet.test,127.0.0.1,localhost',
    });
  });

  it.each(['.config/pip', '.pip'])(
    "sets the user's pip configuration in ~/%s, which is outside the VM's home",
    async (folder) => {
      await mkdir(join(home, folder), { recursive: true });
      await writeFile(join(home, folder, 'pip.conf'), '[global]\n');
      expect(vmEnvironmentOf({ HOME: home }, VM).PIP_CONFIG_FILE).toBe(join(home, folder, 'pip.conf'));
      expect(vmEnvironmentOf({ HOME: home, PIP_CONFIG_FILE: '/chosen' }, VM).PIP_CONFIG_FILE).toBe('/chosen');
    },
  );
});
