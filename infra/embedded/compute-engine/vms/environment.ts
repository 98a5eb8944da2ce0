import { existsSync } from 'node:fs';
import { join } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** In the environment of every process of a VM: tells whose it is, wherever it went. */
export const VM_MARK_VARIABLE = 'DROPFORGE_VM';

/** What a real VM would know from its network and its administrator, and a training package may need to be installed. */
const PASSED_ON = [
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  ...['http_proxy', 'https_proxy', 'ftp_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]),
];

/** The servers of the embedded cloud are on this machine: no proxy may come between. */
const LOCAL_HOSTS = '127.0.0.1,localhost';

/**
 * The whole environment of a VM: none of the cloud's own but the way to the network and to Python packages.
 * `host` is the environment of this machine.
 */
export function vmEnvironmentOf(
  host: Environment,
  vm: { readonly instanceId: string; readonly directory: string; readonly metadataPort: number },
): Readonly<Record<string, string>> {
  const metadataHost = `127.0.0.1:${vm.metadataPort}`;
  return {
    ...passOn(host),
    ...pipConfigurationOf(host),
    ...proxyExceptionsOf(host),
    PATH: [join(vm.directory, 'bin'), host.PATH ?? '/usr/local/bin:/usr/bin:/bin'].join(':'),
    HOME: join(vm.directory, 'home'),
    TMPDIR: join(vm.directory, 'tmp'),
    LANG: 'C.UTF-8',
    DROPFORGE_HOME: join(vm.directory, 'disk'),
    [VM_MARK_VARIABLE]: vm.instanceId,
    // Google's libraries ask GCE_METADATA_HOST, and look for a metadata server at GCE_METADATA_IP first.
    GCE_METADATA_HOST: metadataHost,
    GCE_METADATA_IP: metadataHost,
  };
}

function passOn(host: Environment): Record<string, string> {
  const isPassedOn = (name: string) => name.startsWith('PIP_') || PASSED_ON.includes(name);
  return Object.fromEntries(
    Object.entries(host).filter((entry): entry is [string, string] => entry[1] !== undefined && isPassedOn(entry[0])),
  );
}

/** pip looks for the user's file under HOME, which is another one on the VM (pip documentation, "Configuration Files"). */
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
