import type { IntakeSettings } from '#shared/pipeline/intake-settings.ts';
import type { Problem } from '#shared/protocol/report.ts';
import { fieldPath } from '#shared/spec/dialects/field-paths.ts';
import type { Dialect } from '#shared/spec/job-draft.ts';

type Asked = { readonly runtimeVersion: string; readonly dialect: Dialect };

/** Whether the deployment has the runtime of a job: none is a problem, another in its place worth a warning. */
export function checkRuntime(
  { runtimeVersion, dialect }: Asked,
  { runtimeOf, runtimeVersions }: Pick<IntakeSettings, 'runtimeOf' | 'runtimeVersions'>,
): { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] } {
  const path = fieldPath(dialect, 'runtimeVersion');
  const runtime = runtimeOf(runtimeVersion);
  if (runtime === undefined) {
    const message = `This deployment has no image for runtime ${runtimeVersion}.`;
    const remedy = `Write one of ${runtimeVersions.join(', ')}, or have it added to runtime_images.`;
    return { problems: [{ code: 'UNKNOWN_RUNTIME', message, remedy, path }], warnings: [] };
  }
  if (runtime.name === runtimeVersion) {
    return { problems: [], warnings: [] };
  }
  const note = runtime.note === null ? '' : ` ${runtime.note}`;
  const message = `Runtime ${runtimeVersion} is not to be had: the job gets ${runtime.name}.${note}`;
  const remedy = `See that the program runs there, and write ${runtime.name}; or have an image of your own made.`;
  return { problems: [], warnings: [{ code: 'RUNTIME_REPLACED', message, remedy, path }] };
}
