import { fieldPath } from '#shared/job-file/draft/job-draft.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';

/** Whether the deployment uses a zone that has the machines of the job. */
export const checkZones: Check = ({ draft, spec: { region }, zones }) => {
  const message = `This deployment uses no zone of ${region} that offers the job's machine types.`;
  const remedy = 'Choose another region, or have the zones of the deployment extended.';
  const problem = { code: 'NO_ZONE', message, remedy, path: fieldPath(draft.dialect, 'region') };
  return zones.length > 0 ? {} : { problems: [problem] };
};

export function usesZone({ zones }: IntakeSettings, zone: string): boolean {
  return zones === null || zones.some((zoneOrRegion) => zone === zoneOrRegion || zone.startsWith(`${zoneOrRegion}-`));
}
