import * as z from 'zod';
import { type SecretReaderOptions, statusOf } from '#infra/google-cloud/secret-manager/secret-manager-reader.ts';
import type { SecretNames } from '#shared/ports/secret-names.ts';

/** Intake waits for all secrets of a job at once, and no longer than this. */
const FIND_MS_MAX = 5_000;

const FORBIDDEN = 403;
const NOT_FOUND = 404;

const versionSchema = z.object({ state: z.enum(['ENABLED', 'DISABLED', 'DESTROYED']) });

type Options = SecretReaderOptions & { readonly timeoutMs?: number };

/** Reads the metadata of versions over REST (`projects.secrets.versions.get`), which has no value. */
export function createSecretManagerNames({ projectId, url, auth, timeoutMs = FIND_MS_MAX }: Options): SecretNames {
  return {
    async find({ project, secret, version }) {
      const owner = project ?? projectId;
      const isOwn = owner === projectId;
      const name = `projects/${owner}/secrets/${encodeURIComponent(secret)}/versions/${encodeURIComponent(version)}`;
      const addCommand = `gcloud secrets versions add ${secret} --project=${owner} --data-file=-`;
      const missing = (reason: string) => {
        const list = isOwn ? `list ${secret} in Terraform's variable secrets, and run ` : '';
        const remedy = `Correct its name and version, or add it: ${list}${addCommand}`;
        return { state: 'MISSING' as const, reason, remedy };
      };
      try {
        const { data } = await auth.request<unknown>({ url: `${url}/v1/${name}`, timeout: timeoutMs });
        const { state } = versionSchema.parse(data);
        return state === 'ENABLED' ? { state: 'EXISTS' } : missing(`is ${state.toLowerCase()}`);
      } catch (error) {
        const status = statusOf(error);
        if (status === NOT_FOUND) {
          return missing('does not exist');
        }
        const reason = `Secret Manager ${status === undefined ? 'gave no valid answer in time' : `answered with HTTP ${status}`}`;
        const look = `Check it: gcloud secrets versions describe ${version} --secret=${secret} --project=${owner}`;
        const access = 'To have it checked, let intake read names there (docs/job-file.md#secrets).';
        return { state: 'UNKNOWN', reason, remedy: status === FORBIDDEN ? `${look}. ${access}` : look };
      }
    },
  };
}
