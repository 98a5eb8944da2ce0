import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { engineEnvironmentOf } from '#infra/embedded/compute-engine/vms/containers.ts';
import { temporaryPathOf } from '#infra/embedded/compute-engine/vms/temporary-directory.ts';
import { type Environment, proxyVariablesOf } from '#infra/embedded/vm-proxy/environment.ts';
import { trustFilesOf } from '#infra/embedded/vm-proxy/trust.ts';

/** Set in the environment of every process of a VM: identifies the VM even of detached processes. */
export const VM_MARK_VARIABLE = 'DROPFORGE_VM';

/** Settings that a real VM gets from its network and administrator, and that installing a training package may need. */
const INHERITED = ['SSL_CERT_DIR', ...['ftp_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()])];

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
    ...proxyVariablesOf(host, metadataHost, trustFilesOf(trustDirectoryOf(vm.directory))),
    PATH: [join(vm.directory, 'bin'), host.PATH ?? '/usr/local/bin:/usr/bin:/bin'].join(':'),
    HOME: join(vm.directory, 'home'),
    TMPDIR: temporaryPathOf(vm.instanceId),
    LANG: 'C.UTF-8',
    DROPFORGE_HOME: join(vm.directory, 'disk'),
    DROPFORGE_ENGINE_ENVIRONMENT: JSON.stringify(engineEnvironmentOf(host)),
    [VM_MARK_VARIABLE]: vm.instanceId,
    // Google's libraries use GCE_METADATA_HOST, and detect the metadata server at GCE_METADATA_IP first.
    GCE_METADATA_HOST: metadataHost,
    GCE_METADATA_IP: metadataHost,
    // The only name that gcloud and gsutil read.
    GCE_METADATA_ROOT: metadataHost,
  };
}

/** Where the certificates of the VM's proxy are. */
export const trustDirectoryOf = (directory: string): string => join(directory, 'proxy');

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
