import type { ReplicaGroup } from '#shared/domain/job-spec.ts';
import { fieldPath } from '#shared/job-file/draft/field-paths.ts';
import type { Dialect } from '#shared/job-file/draft/job-draft.ts';
import type { Problem } from '#shared/protocol/report.ts';
import type { IntakeSettings, RuntimeFound } from '#shared/use-cases/intake/intake-settings.ts';

type Asked = {
  readonly runtimeVersion: string;
  readonly pythonVersion: string | null;
  readonly dialect: Dialect;
  readonly replicaGroups: readonly Pick<ReplicaGroup, 'role' | 'bootDiskGib'>[];
};

/**
 * Whether the deployment has the runtime of a job, and with the disks that it asks for: none is a problem, another in
 * its place worth a warning.
 */
export function checkRuntime(
  asked: Asked,
  { runtimeOf, runtimeVersions }: Pick<IntakeSettings, 'runtimeOf' | 'runtimeVersions'>,
): { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] } {
  const { runtimeVersion, dialect } = asked;
  const path = fieldPath(dialect, 'runtimeVersion');
  const runtime = runtimeOf(runtimeVersion);
  if (runtime === undefined) {
    const message = `This deployment has no image for runtime ${runtimeVersion}.`;
    const remedy = `Write one of ${runtimeVersions.join(', ')}, or have it added to runtime_images.`;
    return { problems: [{ code: 'UNKNOWN_RUNTIME', message, remedy, path }], warnings: [] };
  }
  const problems = checkDisks(runtime, asked.replicaGroups);
  const warnings = checkPython(runtime, asked);
  if (runtime.name === runtimeVersion) {
    return { problems, warnings };
  }
  const note = runtime.note === null ? '' : ` ${runtime.note}`;
  const message = `Runtime ${runtimeVersion} is not to be had: the job gets ${runtime.name}.${note}`;
  const remedy =
    runtime.remedy ?? `See that the program runs there, and write ${runtime.name}; or have an image of your own made.`;
  return { problems, warnings: [{ code: 'RUNTIME_REPLACED', message, remedy, path }, ...warnings] };
}

/** A job runs on the Python of its image, whatever it asks for; of Python 2 the job file has been told already. */
function checkPython({ pythonVersion }: RuntimeFound, asked: Asked): readonly Problem[] {
  const wanted = asked.pythonVersion;
  if (pythonVersion === null || wanted === null || wanted.startsWith('2.')) {
    return [];
  }
  if (`${pythonVersion}.`.startsWith(`${wanted}.`) || wanted.startsWith(`${pythonVersion}.`)) {
    return [];
  }
  const message = `The job asks for Python ${wanted}, and the runtime that it gets has Python ${pythonVersion}.`;
  const remedy = `See that the program runs there, and write ${pythonVersion}; or choose a runtime that has ${wanted}.`;
  return [{ code: 'PYTHON_REPLACED', message, remedy, path: fieldPath(asked.dialect, 'pythonVersion') }];
}

/** A machine image keeps the size of its disk: a VM with less room than it was asked for would fail after hours. */
function checkDisks({ name, bootDiskGib }: RuntimeFound, groups: Asked['replicaGroups']): readonly Problem[] {
  if (bootDiskGib === null) {
    return [];
  }
  const others = groups.filter((group) => group.bootDiskGib !== bootDiskGib);
  return others.map((group) => ({
    code: 'DISK_OF_MACHINE_IMAGE',
    message: `The ${group.role} asks for a boot disk of ${group.bootDiskGib} GiB; runtime ${name} boots from machine images only, and they come with ${bootDiskGib} GiB.`,
    remedy: `Ask for ${bootDiskGib} GiB, or for no size at all; or have an image of the runtime added to runtime_images.`,
  }));
}
