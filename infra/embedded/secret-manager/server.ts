import { crc32c } from '@node-rs/crc32';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import { base64DataSchema } from '#infra/embedded/http/body.ts';
import {
  SECRET_BYTES_MAX,
  type SecretStore,
  type StoredSecret,
  type StoredVersion,
} from '#infra/embedded/secret-manager/secret-store.ts';

/** Room for the largest value in base64, and for what stands around it. */
const REQUEST_BYTES_MAX = 2 * SECRET_BYTES_MAX;

/** Secret Manager, "projects.secrets.create": secretId. */
const NAME_PATTERN = /^[A-Za-z0-9_-]{1,255}$/;

const addVersionSchema = z.object({
  payload: z.object({ data: base64DataSchema, dataCrc32c: z.coerce.number().int().optional() }),
});

type Statuses = typeof STATUSES;
const STATUSES = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  NOT_FOUND: 404,
  UNIMPLEMENTED: 405,
  ALREADY_EXISTS: 409,
} as const;

/**
 * Secret Manager on this machine, as far as users and agents need it: secrets are made, given values, listed, read and
 * deleted over REST, as gcloud does it. It has the secrets of one project, and any caller may read them, as everything
 * of the embedded cloud. Source: https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets
 */
export function createSecretManagerServer(secrets: SecretStore, projectId: string): Hono {
  const door = new Hono();
  const root = '/v1/projects/:project/secrets';
  for (const path of [root, `${root}/*`]) {
    door.use(path, async (context, next) => {
      const [, , , project = ''] = context.req.path.split('/');
      return project === projectId ? next() : refuse(context, 'NOT_FOUND', `There is no project ${project} here.`);
    });
  }
  const limit = bodyLimit({
    maxSize: REQUEST_BYTES_MAX,
    onError: (context) => refuse(context, 'INVALID_ARGUMENT', describeSize()),
  });
  door.get(root, (context) =>
    context.json({ secrets: secrets.list().map((secret) => secretResource(secret, projectId)) }),
  );
  door.post(root, limit, (context) => create(context, secrets, projectId));
  door.get(`${root}/:secret`, (context) => {
    const secret = secrets.find(context.req.param('secret'));
    return secret === undefined ? refuseMissing(context) : context.json(secretResource(secret, projectId));
  });
  door.delete(`${root}/:secret`, (context) =>
    secrets.delete(context.req.param('secret')) ? context.json({}) : refuseMissing(context),
  );
  door.post(`${root}/:target{.+:addVersion}`, limit, (context) => addVersion(context, secrets, projectId));
  door.get(`${root}/:secret/versions`, (context) => {
    const secret = context.req.param('secret');
    const versions = secrets.listVersions(secret).map((version) => versionResource(version, projectId));
    return secrets.find(secret) === undefined ? refuseMissing(context) : context.json({ versions });
  });
  door.get(`${root}/:secret/versions/:target`, (context) => readVersion(context, secrets, projectId));
  for (const path of [root, `${root}/*`]) {
    door.all(path, (context) => {
      const { method, path: asked } = context.req;
      return refuse(context, 'UNIMPLEMENTED', `The embedded cloud has no Secret Manager method ${method} ${asked}.`);
    });
  }
  return door;
}

function create(context: Context, secrets: SecretStore, projectId: string): Response {
  const name = context.req.query('secretId') ?? '';
  if (!NAME_PATTERN.test(name)) {
    const message = `"${name.slice(0, 300)}" can be no secret: use letters, digits, "_" and "-", 255 at most.`;
    return refuse(context, 'INVALID_ARGUMENT', message);
  }
  const outcome = secrets.create(name);
  const secret = secrets.find(name);
  if (outcome === 'EXISTS') {
    const remedy = 'Delete it first, or give it a new version with gcloud secrets versions add.';
    return refuse(context, 'ALREADY_EXISTS', `Secret [${name}] already exists. ${remedy}`);
  }
  return secret === undefined
    ? refuse(context, 'FAILED_PRECONDITION', 'The embedded cloud has as many secrets as it may have. Delete some.')
    : context.json(secretResource(secret, projectId));
}

async function addVersion(context: Context, secrets: SecretStore, projectId: string): Promise<Response> {
  const parsed = addVersionSchema.safeParse(await context.req.json().catch(() => undefined));
  if (!parsed.success) {
    return refuse(context, 'INVALID_ARGUMENT', 'The request needs a payload with data in base64.');
  }
  const { data, dataCrc32c } = parsed.data.payload;
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length === 0 || bytes.length > SECRET_BYTES_MAX) {
    return refuse(context, 'INVALID_ARGUMENT', describeSize());
  }
  if (dataCrc32c !== undefined && dataCrc32c !== crc32c(bytes)) {
    return refuse(context, 'INVALID_ARGUMENT', 'The data has another CRC32C than the request says. Send it again.');
  }
  const name = (context.req.param('target') ?? '').replace(/:addVersion$/, '');
  const added = secrets.addVersion(name, bytes);
  if (added === 'TOO_MANY') {
    const message = `Secret [${name}] has as many versions as it may have. Delete it and create it anew.`;
    return refuse(context, 'FAILED_PRECONDITION', message);
  }
  // gcloud takes the data for damaged where the answer does not say that its checksum was heeded.
  const heeded = { clientSpecifiedPayloadChecksum: dataCrc32c !== undefined };
  return added === 'NO_SECRET'
    ? refuseMissing(context)
    : context.json({ ...versionResource(added, projectId), ...heeded });
}

function readVersion(context: Context, secrets: SecretStore, projectId: string): Response {
  const { secret = '', target = '' } = context.req.param();
  const [version = '', verb] = target.split(':');
  const found = secrets.access(secret, version);
  if (found === undefined || (verb !== undefined && verb !== 'access')) {
    return refuseMissing(context);
  }
  const resource = versionResource(found, projectId);
  const data = Buffer.from(found.data);
  return verb === undefined
    ? context.json(resource)
    : context.json({
        name: resource.name,
        payload: { data: data.toString('base64'), dataCrc32c: String(crc32c(data)) },
      });
}

function secretResource({ name, createdAt }: StoredSecret, projectId: string) {
  return {
    name: `projects/${projectId}/secrets/${name}`,
    replication: { automatic: {} },
    createTime: new Date(createdAt).toISOString(),
  };
}

function versionResource({ name, version, createdAt }: StoredVersion, projectId: string) {
  return {
    name: `projects/${projectId}/secrets/${name}/versions/${version}`,
    createTime: new Date(createdAt).toISOString(),
    state: 'ENABLED',
  };
}

function describeSize(): string {
  return `A secret has between 1 and ${SECRET_BYTES_MAX} bytes.`;
}

function refuseMissing(context: Context): Response {
  const name = context.req.path.slice('/v1/'.length).replace(/:\w+$/, '');
  return refuse(context, 'NOT_FOUND', `[${name}] not found. Make it with dropforge secrets create.`);
}

function refuse(context: Context, status: keyof Statuses, message: string): Response {
  return context.json({ error: { code: STATUSES[status], message, status } }, STATUSES[status]);
}
