import { Hono } from 'hono';
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
import { idOf, type ProjectContext, timestampOf } from '#infra/embedded/compute-engine/resource.ts';
import { type MachineType, readCatalog } from '#shared/catalog/catalog.ts';
import { regionOf } from '#shared/domain/job.ts';

const MIB_PER_GIB = 1_024;

/** The resources of the embedded cloud have no creation time. */
const CREATED_AT = timestampOf(0);

/** The resources that VMs refer to: the project, its zones and images, and the machine types of the catalog. */
export function createCatalogRoutes(ports: ComputePorts): Hono {
  const routes = new Hono();
  const { projectId } = ports.identity;

  routes.get('/', (context) => context.json(toProject(ports, projectContextOf(context, ports))));
  routes.get('/zones', (context) => {
    const zones = zoneNamesOf(ports).map((zone) => toZone(zone, projectContextOf(context, ports)));
    return context.json(listOf('zoneList', pageOf(context, zones), selfLinkOf(context)));
  });
  routes.get('/zones/:zone', (context) =>
    context.json(toZone(zoneOf(context, ports), projectContextOf(context, ports))),
  );
  routes.get('/aggregated/machineTypes', (context) => {
    const zones = zoneNamesOf(ports);
    const { base } = projectContextOf(context, ports);
    const types = zones.flatMap((zone) =>
      machineTypesIn(zone).map((type) => toMachineType(type, `${base}/zones/${zone}`)),
    );
    // A machine type has the bare name of its zone; aggregated lists group by the zone's URL.
    const page = pageOf(
      context,
      types.map((type) => ({ ...type, zone: `${base}/zones/${type.zone}` })),
    );
    const scopes = scopesOf(context, ports);
    return context.json(aggregatedListOf(page, { kind: 'machineTypeAggregatedList', key: 'machineTypes', ...scopes }));
  });
  routes.get('/zones/:zone/machineTypes', (context) => {
    const zone = zoneOf(context, ports);
    const zoneUrl = `${projectContextOf(context, ports).base}/zones/${zone}`;
    const types = machineTypesIn(zone).map((type) => toMachineType(type, zoneUrl));
    return context.json(listOf('machineTypeList', pageOf(context, types), selfLinkOf(context)));
  });
  routes.get('/zones/:zone/machineTypes/:name', (context) => {
    const zone = zoneOf(context, ports);
    const name = context.req.param('name');
    const type = machineTypesIn(zone).find((candidate) => candidate.name === name);
    if (type === undefined) {
      throw notFoundError(projectId, `zones/${zone}/machineTypes/${name}`);
    }
    return context.json(toMachineType(type, `${projectContextOf(context, ports).base}/zones/${zone}`));
  });
  for (const collection of ['images', 'machineImages'] as const) {
    addImageRoutes(routes, ports, collection);
  }
  return routes;
}

function addImageRoutes(routes: Hono, ports: ComputePorts, collection: 'images' | 'machineImages'): void {
  const kind = collection === 'images' ? 'image' : 'machineImage';
  const toImage = (name: string, { base }: ProjectContext) => ({
    kind: `compute#${kind}`,
    id: idOf(`${collection}/${name}`),
    creationTimestamp: CREATED_AT,
    name,
    description: 'A Python of this machine',
    status: 'READY',
    ...(kind === 'image' && { diskSizeGb: '100', archiveSizeBytes: '0', sourceType: 'RAW' }),
    selfLink: `${base}/global/${collection}/${name}`,
  });
  routes.get(`/global/${collection}`, (context) => {
    const images = ports.vms.listMachineImages().map((name) => toImage(name, projectContextOf(context, ports)));
    return context.json(listOf(`${kind}List`, pageOf(context, images), selfLinkOf(context)));
  });
  routes.get(`/global/${collection}/:name`, (context) => {
    const name = context.req.param('name');
    if (!ports.vms.listMachineImages().includes(name)) {
      throw notFoundError(ports.identity.projectId, `global/${collection}/${name}`);
    }
    return context.json(toImage(name, projectContextOf(context, ports)));
  });
}

function toProject({ identity }: ComputePorts, { base }: ProjectContext) {
  return {
    kind: 'compute#project',
    id: String(identity.projectNumber),
    creationTimestamp: CREATED_AT,
    name: identity.projectId,
    commonInstanceMetadata: { kind: 'compute#metadata', fingerprint: '' },
    quotas: [],
    selfLink: base,
    defaultServiceAccount: identity.serviceAccountEmail,
    defaultNetworkTier: 'PREMIUM',
  };
}

function toZone(name: string, { base }: ProjectContext) {
  return {
    kind: 'compute#zone',
    id: idOf(`zones/${name}`),
    creationTimestamp: CREATED_AT,
    name,
    description: name,
    status: 'UP',
    region: `${base}/regions/${regionOf(name)}`,
    selfLink: `${base}/zones/${name}`,
  };
}

/** The machine types offered in the zone; in a zone that the catalog does not know, all of them. */
function machineTypesIn(zone: string): readonly MachineType[] {
  const { machineTypes, availability, regions } = readCatalog();
  const isKnown = Object.values(regions).some((zones) => zones.includes(zone));
  return isKnown
    ? machineTypes.filter((type) => availability[type.availability]?.includes(zone) === true)
    : machineTypes;
}

function toMachineType({ name, vcpus, memoryGib, gpu }: MachineType, zoneUrl: string) {
  return {
    kind: 'compute#machineType',
    id: idOf(`machineTypes/${name}`),
    creationTimestamp: CREATED_AT,
    name,
    description: `${vcpus} vCPUs, ${memoryGib} GiB of memory`,
    guestCpus: vcpus,
    memoryMb: Math.round(memoryGib * MIB_PER_GIB),
    isSharedCpu: false,
    zone: zoneUrl.slice(zoneUrl.lastIndexOf('/') + 1),
    selfLink: `${zoneUrl}/machineTypes/${name}`,
    ...(gpu !== null && {
      accelerators: [{ guestAcceleratorType: gpu.type, guestAcceleratorCount: Math.ceil(gpu.count) }],
    }),
  };
}
