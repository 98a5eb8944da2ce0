import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { vmEnvironmentOf } from '../../../infra/embedded/compute-engine/vms/environment.ts';

const BUNDLE = '/vms/a-1234/proxy/bundle.pem';
const LOCAL_HOSTS = `localhost,127.0.0.1,127.0.0.0/8,::1,0.0.0.0,${hostname().toLowerCase()}`;
const PROXIES = Object.fromEntries(
  ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'].map((name) => [name, 'http://127.0.0.1:4711']),
);
const AUTHORITIES = {
  SSL_CERT_FILE: BUNDLE,
  REQUESTS_CA_BUNDLE: BUNDLE,
  CURL_CA_BUNDLE: BUNDLE,
  HTTPLIB2_CA_CERTS: BUNDLE,
  CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE: BUNDLE,
  TENSORSTORE_CA_BUNDLE: BUNDLE,
  GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: BUNDLE,
  NODE_EXTRA_CA_CERTS: '/vms/a-1234/proxy/authority.pem',
};
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
      TMPDIR: '/tmp/dropforge-vm-1234',
      LANG: 'C.UTF-8',
      DROPFORGE_HOME: '/vms/a-1234/disk',
      DROPFORGE_ENGINE_ENVIRONMENT: JSON.stringify({ HOME: home }),
      DROPFORGE_VM: '1234',
      GCE_METADATA_HOST: '127.0.0.1:4711',
      GCE_METADATA_IP: '127.0.0.1:4711',
      GCE_METADATA_ROOT: '127.0.0.1:4711',
      ...PROXIES,
      ...AUTHORITIES,
      no_proxy: LOCAL_HOSTS,
      NO_PROXY: LOCAL_HOSTS,
      FSSPEC_GS_SESSION_KWARGS: '{"trust_env": true}',
      FSSPEC_GCS_SESSION_KWARGS: '{"trust_env": true}',
      TENSORBOARD_DATA_SERVER_BINARY: '/nonexistent',
    });
  });

  it('inherits how this machine reaches packages with pip', () => {
    const passed = { PIP_INDEX_URL: 'https://index.test', SSL_CERT_DIR: '/certificates', ftp_proxy: 'http://proxy:1' };
    expect(vmEnvironmentOf({ ...passed, HOME: home }, VM)).toMatchObject(passed);
  });

  it("names the proxy of the VM instead of this machine's, which the proxy uses itself", () => {
    const host = { https_proxy: 'http://proxy:1', HTTP_PROXY: 'http://proxy:1', SSL_CERT_FILE: '/ca' };
    expect(vmEnvironmentOf(host, VM)).toMatchObject({ ...PROXIES, ...AUTHORITIES });
  });

  it("keeps the exceptions from this machine's proxy, except those for Google and the metadata server", () => {
    const exceptions = ['intranet.test', 'googleapis.com', '.googleapis.com', '*.storage.googleapis.com:443', '*'];
    const NO_PROXY = [...exceptions, 'metadata.google.internal', '169.254.169.254', '.google.com'].join(', ');
    const environment = vmEnvironmentOf({ NO_PROXY }, VM);
    expect(environment).toMatchObject({
      no_proxy: `intranet.test,${LOCAL_HOSTS}`,
      NO_PROXY: `intranet.test,${LOCAL_HOSTS}`,
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
