import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { GoogleAuth, UserRefreshClient } from 'google-auth-library';
import { Failure } from '#cli/core/failure.ts';
import { IDENTITY_HEADER } from '#shared/api/verify-caller.ts';

/** Identity tokens expire after one hour; a cached one is replaced after 45 minutes. */
const TOKEN_AGE_MS_MAX = 45 * 60_000;

const GCLOUD_TIMEOUT_MS = 30_000;

/**
 * Returns a function that creates headers from a cached token: for Cloud Run (docs, "Authenticate developers"), which
 * removes the signature, and for the API itself.
 */
export function createAuthorizer(audience: string): () => Promise<Readonly<Record<string, string>>> {
  let token: { readonly text: string; readonly fetchedAt: number } | undefined;
  return async () => {
    if (token === undefined || Date.now() - token.fetchedAt > TOKEN_AGE_MS_MAX) {
      token = { text: await fetchIdentityToken(audience), fetchedAt: Date.now() };
    }
    return { authorization: `Bearer ${token.text}`, [IDENTITY_HEADER]: token.text };
  };
}

/**
 * For a machine or service account, fetches an identity token with the API as audience. For a user account, uses
 * gcloud's token, which Cloud Run accepts: the audience of the token that the library would fetch is another client.
 */
async function fetchIdentityToken(audience: string): Promise<string> {
  const client = await new GoogleAuth().getClient().catch(() => undefined);
  if (client !== undefined && !(client instanceof UserRefreshClient) && 'fetchIdToken' in client) {
    return (client as { fetchIdToken(audience: string): Promise<string> }).fetchIdToken(audience);
  }
  try {
    const { stdout } = await promisify(execFile)('gcloud', ['auth', 'print-identity-token'], {
      timeout: GCLOUD_TIMEOUT_MS,
    });
    return stdout.trim();
  } catch {
    throw new Failure(
      'No Google Cloud credentials found: run `gcloud auth login`, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account.',
    );
  }
}
