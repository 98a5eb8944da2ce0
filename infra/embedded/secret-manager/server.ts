import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import * as z from 'zod';
import { base64DataSchema } from '#infra/embedded/http/body.ts';
import { crc32c } from '#infra/embedded/http/crc32c.ts';
import {
  SECRET_BYTES_MAX,
  type SecretStore,
  type StoredSecret,
  type StoredVersion,
} from '#infra/embedded/secret-manager/secret-store.ts';

/** Large enough for the largest value in base64 and the JSON around it. */
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
 * The Secret Manager emulator, limited to what users and agents need: create, add versions, list, access and delete
 * over REST, as gcloud does. It has the secrets of one project; any caller may read them, as everything in the embedded
 * cloud. Source: https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets
 */
export function createSecretManagerServer(secrets: SecretStore, projectId: string): Hono {
  const app = new Hono();
  const root = '/v1/projects/:project/secrets';
  for (const path of [root, `${root}/*`]) {
    app.use(path, async (context, next) => {
      const [, , , project = ''] = context.req.path.split('/');
      return project === projectId ? next() : errorResponse(context, 'NOT_FOUND', `Project ${project} not found.`);
    });
  }
  const limit = bodyLimit({
    maxSize: REQUEST_BYTES_MAX,
    onError: (context) => errorResponse(context, 'INVALID_ARGUMENT', describeSize()),
  });
  app.get(root, (context) =>
    context.json({ secrets: secrets.list().map((secret) => secretResource(secret, projectId)) }),
  );
  app.post(root, limit, (context) => create(context, secrets, projectId));
  app.get(`${root}/:secret`, (context) => {
    const secret = secrets.find(context.req.param('secret'));
    return secret === undefined ? notFoundResponse(context) : context.json(secretResource(secret, projectId));
  });
  app.delete(`${root}/:secret`, (context) =>
    secrets.delete(context.req.param('secret')) ? context.json({}) : notFoundResponse(context),
  );
  app.post(`${root}/:target{.+:addVersion}`, limit, (context) => addVersion(context, secrets, projectId));
  app.get(`${root}/:secret/versions`, (context) => {
    const secret = context.req.param('secret');
    const versions = secrets.listVersions(secret).map((version) => versionResource(version, projectId));
    return secrets.find(secret) === undefined ? notFoundResponse(context) : context.json({ versions });
  });
  app.get(`${root}/:secret/versions/:target`, (context) => readVersion(context, secrets, projectId));
  for (const path of [root, `${root}/*`]) {
    app.all(path, (context) => {
      const { method, path: requested } = context.req;
      const message = `The embedded cloud does not support the Secret Manager method ${method} ${requested}.`;
      return errorResponse(context, 'UNIMPLEMENTED', message);
    });
  }
  return app;
}

function create(context: Context, secrets: SecretStore, projectId: string): Response {
  const name = context.req.query('secretId') ?? '';
  if (!NAME_PATTERN.test(name)) {
    const message = `"${name.slice(0, 300)}" is not a valid secret name: use 1 to 255 letters, digits, "_" and "-".`;
    return errorResponse(context, 'INVALID_ARGUMENT', message);
  }
  const outcome = secrets.create(name);
  const secret = secrets.find(name);
  if (outcome === 'EXISTS') {
    const remedy = 'Delete it first, or add a version with gcloud secrets versions add.';
    return errorResponse(context, 'ALREADY_EXISTS', `Secret [${name}] already exists. ${remedy}`);
  }
  return secret === undefined
    ? errorResponse(context, 'FAILED_PRECONDITION', 'The embedded cloud has reached its limit of secrets. Delete some.')
    : context.json(secretResource(secret, projectId));
}

async function addVersion(context: Context, secrets: SecretStore, projectId: string): Promise<Response> {
  const parsed = addVersionSchema.safeParse(await context.req.json().catch(() => undefined));
  if (!parsed.success) {
    return errorResponse(context, 'INVALID_ARGUMENT', 'The request must have a payload with data in base64.');
  }
  const { data, dataCrc32c } = parsed.data.payload;
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length === 0 || bytes.length > SECRET_BYTES_MAX) {
    return errorResponse(context, 'INVALID_ARGUMENT', describeSize());
  }
  if (dataCrc32c !== undefined && dataCrc32c !== crc32c(bytes)) {
    return errorResponse(
      context,
      'INVALID_ARGUMENT',
      'The CRC32C in the request does not match the data. Send it again.',
    );
  }
  const name = (context.req.param('target') ?? '').replace(/:addVersion$/, '');
  const added = secrets.addVersion(name, bytes);
  if (added === 'TOO_MANY') {
    const message = `Secret [${name}] has reached its limit of versions. Delete it and create it again.`;
    return errorResponse(context, 'FAILED_PRECONDITION', message);
  }
  // gcloud treats the data as corrupted unless the response confirms that its checksum was used.
  const confirmation = { clientSpecifiedPayloadChecksum: dataCrc32c !== undefined };
  return added === 'NO_SECRET'
    ? notFoundResponse(context)
    : context.json({ ...versionResource(added, projectId), ...confirmation });
}

function readVersion(context: Context, secrets: SecretStore, projectId: string): Response {
  const { secret = '', target = '' } = context.req.param();
  const [version = '', verb] = target.split(':');
  const found = secrets.access(secret, version);
  if (found === undefined || (verb !== undefined && verb !== 'access')) {
    return notFoundResponse(context);
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

function notFoundResponse(context: Context): Response {
  const name = context.req.path.slice('/v1/'.length).replace(/:\w+$/, '');
  return errorResponse(context, 'NOT_FOUND', `[${name}] not found. Create it with dropforge secrets create.`);
}

function errorResponse(context: Context, status: keyof Statuses, message: string): Response {
  return context.json({ error: { code: STATUSES[status], message, status } }, STATUSES[status]);
}
