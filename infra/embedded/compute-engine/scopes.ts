import { type Context, Hono } from 'hono';
import { notFoundError } from '#infra/embedded/compute-engine/error.ts';
import { aggregatedListOf, listOf, pageOf } from '#infra/embedded/compute-engine/list.ts';
import {
  type ComputePorts,
  projectContextOf,
  scopesOf,
  selfLinkOf,
  zoneNamesOf,
  zoneOf,
} from '#infra/embedded/compute-engine/request.ts';
import { idOf, timestampOf } from '#infra/embedded/compute-engine/resource.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';
import { readCatalog } from '#shared/catalog/catalog.ts';
import { regionOf } from '#shared/domain/job.ts';

type Zonal = Readonly<Record<string, unknown>> & { readonly name: string; readonly zone: string };

type Collection = {
  /** As in URLs: `acceleratorTypes`. */
  readonly name: string;
  readonly kind: string;
  readonly list: (context: Context, ports: ComputePorts) => readonly Zonal[];
};

/** Zonal resources other than machine types and VMs: the GPUs of the catalog, and the VMs' boot disks. */
const COLLECTIONS: readonly Collection[] = [
  { name: 'acceleratorTypes', kind: 'acceleratorType', list: listAcceleratorTypes },
  { name: 'disks', kind: 'disk', list: listDisks },
];

/** Regions and zonal resources: lists, aggregated lists and single resources. */
export function createScopeRoutes(ports: ComputePorts): Hono {
  const routes = new Hono();
  const regionsOf = (context: Context) => {
    const regions = Map.groupBy(zoneNamesOf(ports), regionOf);
    return [...regions].map(([name, zones]) => toRegion(name, zones, projectContextOf(context, ports).base));
  };
  routes.get('/regions', (context) =>
    context.json(listOf('regionList', pageOf(context, regionsOf(context)), selfLinkOf(context))),
  );
  routes.get('/regions/:region', (context) => {
    const name = context.req.param('region');
    const region = regionsOf(context).find((candidate) => candidate.name === name);
    if (region === undefined) {
      throw notFoundError(ports.identity.projectId, `regions/${name}`);
    }
    return context.json(region);
  });
  for (const collection of COLLECTIONS) {
    addCollectionRoutes(routes, ports, collection);
  }
  return routes;
}

function addCollectionRoutes(routes: Hono, ports: ComputePorts, { name, kind, list }: Collection): void {
  routes.get(`/aggregated/${name}`, (context) => {
    const page = pageOf(context, list(context, ports));
    const scopes = scopesOf(context, ports);
    return context.json(aggregatedListOf(page, { kind: `${kind}AggregatedList`, key: name, ...scopes }));
  });
  const listIn = (context: Context, zone: string) =>
    list(context, ports).filter((resource) => resource.zone.endsWith(`/${zone}`));
  routes.get(`/zones/:zone/${name}`, (context) => {
    const found = listIn(context, zoneOf(context, ports));
    return context.json(listOf(`${kind}List`, pageOf(context, found), selfLinkOf(context)));
  });
  routes.get(`/zones/:zone/${name}/:name`, (context) => {
    const zone = zoneOf(context, ports);
    const requested = context.req.param('name');
    const found = listIn(context, zone).find((resource) => resource.name === requested);
    if (found === undefined) {
      throw notFoundError(ports.identity.projectId, `zones/${zone}/${name}/${requested}`);
    }
    return context.json(found);
  });
}

function toRegion(name: string, zones: readonly string[], base: string) {
  return {
    kind: 'compute#region',
    id: idOf(`regions/${name}`),
    creationTimestamp: timestampOf(0),
    name,
    description: name,
    status: 'UP',
    zones: zones.map((zone) => `${base}/zones/${zone}`),
    quotas: [],
    selfLink: `${base}/regions/${name}`,
  };
}

/** The GPUs offered in each zone; in a zone that the catalog does not know, all of them. */
function listAcceleratorTypes(context: Context, ports: ComputePorts): readonly Zonal[] {
  const { accelerators, machineTypes, availability, regions } = readCatalog();
  const known = new Set(Object.values(regions).flat());
  const { base } = projectContextOf(context, ports);
  const offered = accelerators.map(({ name, label, zones, attach }) => {
    const builtIn = machineTypes.filter(({ gpu }) => gpu?.type === name);
    const counts = [...(attach ?? []), ...builtIn.map(({ gpu }) => ({ count: gpu?.count ?? 0 }))];
    return {
      ...{ name, label },
      countMax: Math.ceil(Math.max(...counts.map(({ count }) => count))),
      zones: [...zones, ...builtIn.flatMap((type) => availability[type.availability] ?? [])],
    };
  });
  return zoneNamesOf(ports).flatMap((zone) =>
    offered
      .filter(({ zones }) => zones.includes(zone) || (zones.length > 0 && !known.has(zone)))
      .map(({ name, label, countMax }) => ({
        kind: 'compute#acceleratorType',
        id: idOf(`acceleratorTypes/${name}`),
        creationTimestamp: timestampOf(0),
        name,
        description: `NVIDIA ${label}`,
        maximumCardsPerInstance: countMax,
        zone: `${base}/zones/${zone}`,
        selfLink: `${base}/zones/${zone}/acceleratorTypes/${name}`,
      })),
  );
}

/** Each VM has one boot disk, with the VM's name and lifetime; a VM that waits for capacity has none. */
function listDisks(context: Context, ports: ComputePorts): readonly Zonal[] {
  const { base } = projectContextOf(context, ports);
  const records = ports.vms.listRecords().filter(({ status }) => status !== 'PENDING');
  return records.map((record) => toDisk(record, base));
}

function toDisk({ request, instanceId, createdAt }: VmRecord, base: string): Zonal {
  const { vmName, zone, bootDiskGib, bootDiskType } = request;
  const zoneUrl = `${base}/zones/${zone}`;
  return {
    kind: 'compute#disk',
    id: idOf(`disks/${instanceId}`),
    creationTimestamp: timestampOf(createdAt),
    name: vmName,
    sizeGb: String(bootDiskGib),
    zone: zoneUrl,
    status: 'READY',
    type: `${zoneUrl}/diskTypes/${bootDiskType}`,
    users: [`${zoneUrl}/instances/${vmName}`],
    physicalBlockSizeBytes: '4096',
    lastAttachTimestamp: timestampOf(createdAt),
    selfLink: `${zoneUrl}/disks/${vmName}`,
  };
}
