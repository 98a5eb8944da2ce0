import type { GoogleAuth } from 'google-auth-library';
import * as z from 'zod';
import type { SecretReader } from '#shared/ports/secret-reader.ts';

const READ_MS_MAX = 10_000;

const versionSchema = z.object({ payload: z.object({ data: z.base64() }) });

/** Missing, without an enabled version, or not readable by this function: nothing that a retry at once would change. */
const UNAVAILABLE_STATUSES: ReadonlySet<unknown> = new Set([400, 403, 404]);

export type SecretReaderOptions = { readonly projectId: string; readonly url: string; readonly auth: GoogleAuth };

/** Reads secrets over REST (`projects.secrets.versions.access`): the client library would be larger than the function. */
export function createSecretManagerReader({ projectId, url, auth }: SecretReaderOptions): SecretReader {
  return {
    async read(name) {
      try {
        const { data } = await auth.request<unknown>({
          url: `${url}/v1/projects/${projectId}/secrets/${encodeURIComponent(name)}/versions/latest:access`,
          timeout: READ_MS_MAX,
          retry: true,
        });
        return Buffer.from(versionSchema.parse(data).payload.data, 'base64').toString('utf8');
      } catch (error) {
        if (UNAVAILABLE_STATUSES.has(statusOf(error))) {
          return undefined;
        }
        throw error;
      }
    },
  };
}

/** The HTTP status of the response that the client threw; undefined if there was none. */
export function statusOf(error: unknown): unknown {
  const { status, response } = Object(error) as { status?: unknown; response?: { status?: unknown } };
  return response?.status ?? status;
}
