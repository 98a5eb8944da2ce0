import type { GoogleAuth } from 'google-auth-library';
import * as z from 'zod';
import type { SecretNames } from '#shared/ports/secret-names.ts';
import type { SecretReader } from '#shared/ports/secret-reader.ts';

const READ_MS_MAX = 10_000;
/** Intake waits for all secrets of a job at once, and no longer than this. */
const FIND_MS_MAX = 5_000;

const valueSchema = z.object({ payload: z.object({ data: z.base64() }) });
const metadataSchema = z.object({ state: z.enum(['ENABLED', 'DISABLED', 'DESTROYED']) });

/** Missing, without an enabled version, or not readable by this function: nothing that a retry at once would change. */
const UNAVAILABLE_STATUSES: ReadonlySet<unknown> = new Set([400, 403, 404]);

export type SecretReaderOptions = {
  readonly projectId: string;
  readonly url: string;
  readonly auth: GoogleAuth;
  readonly findMsMax?: number;
};

/**
 * Reads secrets over REST: values (`projects.secrets.versions.access`), or only metadata (`projects.secrets.versions.get`).
 * The client library would be larger than the function.
 */
export function createSecretManagerReader(options: SecretReaderOptions): SecretReader & SecretNames {
  const { projectId, url, auth, findMsMax = FIND_MS_MAX } = options;
  const urlOf = (project: string, secret: string, version: string) =>
    `${url}/v1/projects/${project}/secrets/${encodeURIComponent(secret)}/versions/${version}`;
  return {
    async read(name) {
      try {
        const { data } = await auth.request<unknown>({
          url: `${urlOf(projectId, name, 'latest')}:access`,
          timeout: READ_MS_MAX,
          retry: true,
        });
        return Buffer.from(valueSchema.parse(data).payload.data, 'base64').toString('utf8');
      } catch (error) {
        if (UNAVAILABLE_STATUSES.has(statusOf(error))) {
          return undefined;
        }
        throw error;
      }
    },
    async find({ project, secret, version }) {
      const owner = project ?? projectId;
      const list = owner === projectId ? `list ${secret} in Terraform's variable secrets, and run ` : '';
      const remedy = `Correct its name and version, or add it: ${list}gcloud secrets versions add ${secret} --project=${owner} --data-file=-`;
      try {
        const { data } = await auth.request<unknown>({ url: urlOf(owner, secret, version), timeout: findMsMax });
        const { state } = metadataSchema.parse(data);
        return state === 'ENABLED'
          ? { state: 'EXISTS' }
          : { state: 'MISSING', reason: `is ${state.toLowerCase()}`, remedy };
      } catch (error) {
        const status = statusOf(error);
        const reason = `Secret Manager ${status === undefined ? 'gave no valid answer in time' : `answered with HTTP ${status}`}`;
        const look = `Check it: gcloud secrets versions describe ${version} --secret=${secret} --project=${owner}`;
        const allow =
          status === 403 ? '. To have it checked, let intake read names there (docs/job-file.md#secrets).' : '';
        return status === 404
          ? { state: 'MISSING', reason: 'does not exist', remedy }
          : { state: 'UNKNOWN', reason, remedy: `${look}${allow}` };
      }
    },
  };
}

/** The HTTP status of the response that the client threw; undefined if there was none. */
function statusOf(error: unknown): unknown {
  const { status, response } = Object(error) as { status?: unknown; response?: { status?: unknown } };
  return response?.status ?? status;
}
