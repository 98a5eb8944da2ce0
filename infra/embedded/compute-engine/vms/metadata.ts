import { randomBytes } from 'node:crypto';
import {
  directory,
  integerLeaf,
  linesLeaf,
  type MetadataContent,
  type MetadataDirectory,
  textLeaf,
  verbatimDirectory,
} from '#infra/embedded/compute-engine/metadata-server/tree.ts';
import type { VmIdentityIssuer } from '#infra/embedded/compute-engine/vms/identity.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';
import { VM_TOKEN_PREFIX } from '#infra/embedded/vm-proxy/google-apis.ts';
import type { Clock } from '#shared/ports/clock.ts';

export type VmMetadataOptions = {
  readonly identity: VmIdentityIssuer;
  readonly clock: Clock;
  /** The VM's current record. */
  readonly record: () => VmRecord;
};

const TOKEN_LIFETIME_MS = 3_600_000;

/** Google's metadata server returns the same token until this little of its lifetime is left. */
const TOKEN_REMAINING_MS_MIN = 300_000;

const SCOPES = ['https://www.googleapis.com/auth/cloud-platform'];

/** The metadata tree of a VM (cloud.google.com/compute/docs/metadata/predefined-metadata-keys). */
export function createVmMetadata(options: VmMetadataOptions): () => MetadataDirectory {
  const { identity } = options;
  const email = options.record().request.serviceAccount ?? identity.serviceAccountEmail;
  const defaultAccount = directory({
    aliases: linesLeaf(['default']),
    email: textLeaf(email),
    identity: { kind: 'ACTION', respond: (query) => respondIdentity(options, query) },
    scopes: linesLeaf(SCOPES),
    token: { kind: 'ACTION', respond: createTokenResponder(options.clock) },
  });
  const accounts = verbatimDirectory([
    [email, defaultAccount],
    ['default', defaultAccount],
  ]);
  const project = directory({
    attributes: verbatimDirectory([]),
    'numeric-project-id': integerLeaf(String(identity.projectNumber)),
    'project-id': textLeaf(identity.projectId),
  });
  return () => {
    const instance = { ...instanceEntries(options.record(), identity), 'service-accounts': accounts };
    return directory({ instance: directory(instance), project });
  };
}

function instanceEntries(record: VmRecord, { projectId, projectNumber }: VmIdentityIssuer) {
  const { request, instanceId, isPreempted } = record;
  const isSpot = request.provisioningModel === 'SPOT';
  const attributes = Object.entries(request.metadata).map(([name, value]) => [name, textLeaf(value)] as const);
  return {
    attributes: verbatimDirectory(attributes),
    'cpu-platform': textLeaf('Unknown CPU Platform'),
    hostname: textLeaf(`${request.vmName}.${request.zone}.c.${projectId}.internal`),
    id: integerLeaf(instanceId),
    // Compute Engine leaves it empty for VMs created from a machine image.
    image: textLeaf(''),
    'machine-type': textLeaf(`projects/${projectNumber}/machineTypes/${request.machineType}`),
    'maintenance-event': textLeaf(record.isMaintained ? 'TERMINATE_ON_HOST_MAINTENANCE' : 'NONE'),
    ...(record.isMaintained && { 'upcoming-maintenance': maintenanceAt(record.deleteAt) }),
    name: textLeaf(request.vmName),
    preempted: textLeaf(isPreempted ? 'TRUE' : 'FALSE'),
    scheduling: directory({
      'automatic-restart': textLeaf('FALSE'),
      'on-host-maintenance': textLeaf('TERMINATE'),
      preemptible: textLeaf(isSpot ? 'TRUE' : 'FALSE'),
    }),
    tags: { kind: 'LEAF', text: '[]', json: '[]' } as const,
    zone: textLeaf(`projects/${projectNumber}/zones/${request.zone}`),
  };
}

function maintenanceAt(timestampMs: number): MetadataDirectory {
  return directory({
    'can-reschedule': textLeaf('FALSE'),
    'maintenance-status': textLeaf('PENDING'),
    'window-start-time': textLeaf(new Date(timestampMs).toISOString()),
  });
}

async function respondIdentity(
  { identity, record }: VmMetadataOptions,
  query: URLSearchParams,
): Promise<MetadataContent> {
  const audience = query.get('audience');
  if (audience === null || audience === '') {
    return { status: 400, type: 'text', body: 'non-empty audience parameter required\n' };
  }
  const { request, instanceId, createdAt } = record();
  const { vmName, zone, serviceAccount } = request;
  const claims = { instanceId, vmName, zone, createdAt, serviceAccount };
  const format = query.get('format') === 'full' ? 'full' : 'standard';
  return { status: 200, type: 'text', body: await identity.issueToken(claims, { audience, format }) };
}

/** The embedded servers do not check access tokens: a token only needs the format and the expiry of a real one. */
function createTokenResponder(clock: Clock): () => Promise<MetadataContent> {
  let token = '';
  let expiresAt = 0;
  return async () => {
    if (expiresAt - clock.now() < TOKEN_REMAINING_MS_MIN) {
      token = `${VM_TOKEN_PREFIX}${randomBytes(96).toString('base64url')}`;
      expiresAt = clock.now() + TOKEN_LIFETIME_MS;
    }
    const expiresIn = Math.floor((expiresAt - clock.now()) / 1_000);
    return {
      status: 200,
      type: 'json',
      body: JSON.stringify({ access_token: token, expires_in: expiresIn, token_type: 'Bearer' }),
    };
  };
}
