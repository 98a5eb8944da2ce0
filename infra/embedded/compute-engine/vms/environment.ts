import { existsSync } from 'node:fs';
import { join } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Set in the environment of every process of a VM: identifies the VM even of detached processes. */
export const VM_MARK_VARIABLE = 'DROPFORGE_VM';

/** Settings that a real VM gets from its network and administrator, and that installing a training package may need. */
const INHERITED = [
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  ...['http_proxy', 'https_proxy', 'ftp_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]),
];

/** The servers of the embedded cloud are on this machine and must not be reached through a proxy. */
const LOCAL_HOSTS = '127.0.0.1,localhost';

/**
 * The complete environment of a VM. Of `host`, the environment of this machine, it inherits only settings for network
 * and Python packages.
 */
export function vmEnvironmentOf(
  host: Environment,
  vm: { readonly instanceId: string; readonly directory: string; readonly metadataPort: number },
): Readonly<Record<string, string>> {
  const metadataHost = `127.0.0.1:${vm.metadataPort}`;
  return {
    ...inheritedOf(host),
    ...pipConfigurationOf(host),
    ...proxyExceptionsOf(host),
    PATH: [join(vm.directory, 'bin'), host.PATH ?? '/usr/local/bin:/usr/bin:/bin'].join(':'),
    HOME: join(vm.directory, 'home'),
    TMPDIR: join(vm.directory, 'tmp'),
    LANG: 'C.UTF-8',
    DROPFORGE_HOME: join(vm.directory, 'disk'),
    [VM_MARK_VARIABLE]: vm.instanceId,
    // Google's libraries use GCE_METADATA_HOST, and detect the metadata server at GCE_METADATA_IP first.
    GCE_METADATA_HOST: metadataHost,
    GCE_METADATA_IP: metadataHost,
  };
}

function inheritedOf(host: Environment): Record<string, string> {
  const isInherited = (name: string) => name.startsWith('PIP_') || INHERITED.includes(name);
  return Object.fromEntries(
    Object.entries(host).filter((entry): entry is [string, string] => entry[1] !== undefined && isInherited(entry[0])),
  );
}

/** pip reads the user's configuration from HOME, which differs on the VM (pip documentation, "Configuration Files"). */
function pipConfigurationOf(host: Environment): Record<string, string> {
  const home = host.HOME;
  if (host.PIP_CONFIG_FILE !== undefined || home === undefined) {
    return {};
  }
  const file = [
    join(home, 'Library', 'Application Support', 'pip', 'pip.conf'),
    join(host.XDG_CONFIG_HOME ?? join(home, '.config'), 'pip', 'pip.conf'),
    join(home, '.pip', 'pip.conf'),
  ].find((candidate) => existsSync(candidate));
  return file === undefined ? {} : { PIP_CONFIG_FILE: file };
}

function proxyExceptionsOf(host: Environment): Record<string, string> {
  const given = host.no_proxy ?? host.NO_PROXY;
  const hosts = given === undefined || given === '' ? LOCAL_HOSTS : `${given},${LOCAL_HOSTS}`;
  return { no_proxy: hosts, NO_PROXY: hosts };
}
