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
import type { Clock } from '#shared/ports/clock.ts';

export type VmMetadataOptions = {
  readonly identity: VmIdentityIssuer;
  readonly clock: Clock;
  /** The VM as it is now. */
  readonly record: () => VmRecord;
};

const TOKEN_LIFETIME_MS = 3_600_000;

/** Google's metadata server gives the same token until it has so little left. */
const TOKEN_LIFE_LEFT_MS_MIN = 300_000;

const GUEST_ATTRIBUTE_NAME = /^[A-Za-z0-9_-]{1,128}\/[A-Za-z0-9_.-]{1,128}$/;
const GUEST_ATTRIBUTES_MAX = 64;

const SCOPES = ['https://www.googleapis.com/auth/cloud-platform'];

/** What the metadata server of a VM has to say (cloud.google.com/compute/docs/metadata/predefined-metadata-keys). */
export function createVmMetadata(options: VmMetadataOptions): () => MetadataDirectory {
  const { identity } = options;
  const defaultAccount = directory({
    aliases: linesLeaf(['default']),
    email: textLeaf(identity.serviceAccountEmail),
    identity: { kind: 'ACTION', answer: (query) => answerIdentity(options, query) },
    scopes: linesLeaf(SCOPES),
    token: { kind: 'ACTION', answer: createTokenAnswer(options.clock) },
  });
  const accounts = verbatimDirectory([
    [identity.serviceAccountEmail, defaultAccount],
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
  const { request, instanceId, isPreempted, guestAttributes } = record;
  const isSpot = request.provisioningModel === 'SPOT';
  const attributes = Object.entries(request.metadata).map(([name, value]) => [name, textLeaf(value)] as const);
  return {
    attributes: verbatimDirectory(attributes),
    'cpu-platform': textLeaf('Unknown CPU Platform'),
    'guest-attributes': guestAttributesDirectory(guestAttributes),
    hostname: textLeaf(`${request.vmName}.${request.zone}.c.${projectId}.internal`),
    id: integerLeaf(instanceId),
    // Compute Engine leaves it empty for VMs that are created from a machine image.
    image: textLeaf(''),
    'machine-type': textLeaf(`projects/${projectNumber}/machineTypes/${request.machineType}`),
    'maintenance-event': textLeaf('NONE'),
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

function guestAttributesDirectory(attributes: VmRecord['guestAttributes']): MetadataDirectory {
  const byNamespace = Map.groupBy(Object.entries(attributes), ([name]) => String(name.split('/')[0]));
  const entriesOf = (named: readonly [string, string][]) =>
    named.map(([name, value]) => [name.slice(name.indexOf('/') + 1), textLeaf(value)] as const);
  return verbatimDirectory(
    [...byNamespace].map(([namespace, named]) => [namespace, verbatimDirectory(entriesOf(named))]),
  );
}

/**
 * The VM's guest attributes with `name` (NAMESPACE/KEY) set to a value, or with null deleted; unchanged, with the HTTP
 * status and the reason, when it must not be (cloud.google.com/compute/docs/metadata/manage-guest-attributes).
 */
export function withGuestAttribute({ request, guestAttributes }: VmRecord, name: string, value: string | null) {
  const { [name]: before, ...others } = guestAttributes;
  const refuse = (status: number, message: string) => ({ attributes: guestAttributes, status, message });
  if (request.metadata['enable-guest-attributes']?.toUpperCase() !== 'TRUE') {
    return refuse(403, 'Guest attributes are off: set the metadata attribute enable-guest-attributes to TRUE.');
  }
  if (!GUEST_ATTRIBUTE_NAME.test(name)) {
    return refuse(400, `A guest attribute is named NAMESPACE/KEY, by ${GUEST_ATTRIBUTE_NAME.source}.`);
  }
  if (value === null) {
    return before === undefined
      ? refuse(404, `There is no guest attribute ${name}.`)
      : { attributes: others, status: 200, message: '' };
  }
  if (before === undefined && Object.keys(others).length >= GUEST_ATTRIBUTES_MAX) {
    return refuse(429, `A VM has at most ${GUEST_ATTRIBUTES_MAX} guest attributes. Delete one.`);
  }
  return { attributes: { ...others, [name]: value }, status: 200, message: '' };
}

async function answerIdentity(
  { identity, record }: VmMetadataOptions,
  query: URLSearchParams,
): Promise<MetadataContent> {
  const audience = query.get('audience');
  if (audience === null || audience === '') {
    return { status: 400, type: 'text', body: 'non-empty audience parameter required\n' };
  }
  const { request, instanceId, createdAt } = record();
  const claims = { instanceId, vmName: request.vmName, zone: request.zone, createdAt };
  const format = query.get('format') === 'full' ? 'full' : 'standard';
  return { status: 200, type: 'text', body: await identity.issueToken(claims, { audience, format }) };
}

/** The embedded doors ask nobody for an access token: it only has to look like one and to expire like one. */
function createTokenAnswer(clock: Clock): () => Promise<MetadataContent> {
  let token = '';
  let expiresAt = 0;
  return async () => {
    if (expiresAt - clock.now() < TOKEN_LIFE_LEFT_MS_MIN) {
      token = `ya29.c.${randomBytes(96).toString('base64url')}`;
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
