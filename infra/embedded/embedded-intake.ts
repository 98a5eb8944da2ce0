import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { EmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/intake-settings.ts';

type Buckets = Pick<IntakeSettings, 'uploadBucket' | 'jobsBucket'>;

/** What intake is told about this machine. */
export async function embeddedIntake(config: EmbeddedConfig, buckets: Buckets): Promise<IntakeSettings> {
  return {
    ...buckets,
    regionDefault: config.regionDefault,
    runtimeVersionDefault: config.runtimeVersionDefault,
    zones: config.zones?.map(({ name }) => name) ?? null,
    // Every version is welcome: all of them run on this machine's own Python.
    runtimeOf: runtimesOf(config, await findPythonVersion(config)),
    runtimeVersions: config.machineImages.map(({ name }) => name),
    room: roomOf(config),
  };
}

/** The VMs of a job are all in one zone. */
function roomOf({ vmsMax, zones }: EmbeddedConfig): IntakeSettings['room'] {
  const zoneVmsMax = Math.max(...(zones ?? [{ vmsMax }]).map((zone) => zone.vmsMax));
  return zoneVmsMax < vmsMax
    ? { vmsMax: zoneVmsMax, reason: `no zone of this embedded cloud has room for more than ${zoneVmsMax}` }
    : { vmsMax, reason: `this machine runs ${vmsMax} VMs at a time` };
}

/** VMs of this machine run its own Python; one that does not start is not known, and the first VM will tell. */
function findPythonVersion({ machineImages: [first] }: EmbeddedConfig): Promise<string | null> {
  const script = 'import sys; print("%d.%d" % sys.version_info[:2])';
  return promisify(execFile)(first?.python ?? 'python3', ['-c', script]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
}

/** Who names no runtime, and so gets the default, has nothing to be told. */
function runtimesOf(config: EmbeddedConfig, pythonVersion: string | null): IntakeSettings['runtimeOf'] {
  const { machineImages, runtimeVersionDefault } = config;
  return (version) => {
    const isKnown = version === runtimeVersionDefault || machineImages.some(({ name }) => name.endsWith(version));
    const found = { note: null, pythonVersion, bootDiskGib: null };
    return isKnown
      ? { ...found, name: version }
      : {
          ...found,
          name: pythonVersion === null ? "this machine's own Python" : `this machine's own Python ${pythonVersion}`,
          remedy: `See that the program runs there; or give this machine an image whose name ends with ${version} (machineImages in docs/embedded-cloud.md).`,
        };
  };
}
