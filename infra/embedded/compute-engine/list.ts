import type { Context } from 'hono';
import type { scopesOf } from '#infra/embedded/compute-engine/request.ts';
import { selfLinkOf } from '#infra/embedded/compute-engine/request.ts';
import type { toInstanceResource } from '#infra/embedded/compute-engine/resource.ts';
import { compileFilter } from '#infra/embedded/http/list-filter.ts';

type Instance = ReturnType<typeof toInstanceResource>;

/** The instances that match the parameter `filter`, by zone and name. All are on one page: this machine has few VMs. */
export function selectInstances({ req }: Context, instances: readonly Instance[]): readonly Instance[] {
  const keyOf = ({ zone, name }: Instance) => `${zone}/${name}`;
  return instances
    .filter(compileFilter(req.query('filter')))
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

/** An empty list has no `items` field, as in Google's API. */
export function listOf(context: Context, instances: readonly Instance[]) {
  return { ...headOf(context, 'instanceList'), ...(instances.length > 0 && { items: instances }) };
}

/** Zones that are unreachable or have no instance have a warning instead, as in Google's API. */
export function aggregatedListOf(
  context: Context,
  instances: readonly Instance[],
  { zones, unreachable }: ReturnType<typeof scopesOf>,
) {
  const items = zones.map((zone) => {
    const scope = `zones/${zone}`;
    const isUnreachable = unreachable.includes(zone);
    const inZone = isUnreachable ? [] : instances.filter((instance) => instance.zone.endsWith(`/${zone}`));
    const warning = {
      code: isUnreachable ? 'UNREACHABLE' : 'NO_RESULTS_ON_PAGE',
      message: isUnreachable
        ? `The scope '${scope}' is unreachable.`
        : `There are no results for scope '${scope}' on this page.`,
      data: [{ key: 'scope', value: scope }],
    };
    return [scope, inZone.length > 0 ? { instances: inZone } : { warning }] as const;
  });
  return {
    ...headOf(context, 'instanceAggregatedList'),
    items: Object.fromEntries(items),
    ...(unreachable.length > 0 && { unreachables: unreachable.map((zone) => `zones/${zone}`) }),
  };
}

function headOf(context: Context, kind: string) {
  const selfLink = selfLinkOf(context);
  return { kind: `compute#${kind}`, id: selfLink.slice(selfLink.indexOf('projects/')), selfLink };
}
