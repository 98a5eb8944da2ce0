import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { GoogleAuth, UserRefreshClient } from 'google-auth-library';
import { Failure } from '#cli/core/failure.ts';

/** A token lives for an hour; one that is older than this is not used any more. */
const TOKEN_AGE_MS_MAX = 45 * 60_000;

const GCLOUD_MS_MAX = 30_000;

/** Shows Cloud Run who asks (docs, "Authenticate developers"); fetches a token when the last one has grown old. */
export function createIdentity(audience: string): () => Promise<Readonly<Record<string, string>>> {
  let token: { readonly text: string; readonly fetchedAt: number } | undefined;
  return async () => {
    if (token === undefined || Date.now() - token.fetchedAt > TOKEN_AGE_MS_MAX) {
      token = { text: await fetchIdentityToken(audience), fetchedAt: Date.now() };
    }
    return { authorization: `Bearer ${token.text}` };
  };
}

/**
 * A machine's or a service account's own token, made out to the API. Of people Cloud Run takes the one that gcloud gives
 * them: what the library would get for their own credentials is made out to another client.
 */
async function fetchIdentityToken(audience: string): Promise<string> {
  const client = await new GoogleAuth().getClient().catch(() => undefined);
  if (client !== undefined && !(client instanceof UserRefreshClient) && 'fetchIdToken' in client) {
    return (client as { fetchIdToken(audience: string): Promise<string> }).fetchIdToken(audience);
  }
  try {
    const { stdout } = await promisify(execFile)('gcloud', ['auth', 'print-identity-token'], {
      timeout: GCLOUD_MS_MAX,
    });
    return stdout.trim();
  } catch {
    throw new Failure(
      'Nobody is logged in to Google Cloud here: run `gcloud auth login`, or have GOOGLE_APPLICATION_CREDENTIALS name a service account.',
    );
  }
}
