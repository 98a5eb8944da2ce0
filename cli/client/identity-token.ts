import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import {
  BaseExternalAccountClient,
  type ExternalAccountClientOptions,
  GoogleAuth,
  UserRefreshClient,
} from 'google-auth-library';
import { describeError, Failure } from '#cli/core/failure.ts';
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
  // No token depends on the project, which the library would otherwise look up with a request.
  const auth = new GoogleAuth({ projectId: 'unused' });
  const client = await auth.getClient().catch(() => undefined);
  if (client instanceof BaseExternalAccountClient) {
    return fetchFederatedToken(client, auth.jsonContent as ExternalAccountClientOptions, audience);
  }
  if (client !== undefined && !(client instanceof UserRefreshClient) && 'fetchIdToken' in client) {
    return (client as { fetchIdToken(audience: string): Promise<string> }).fetchIdToken(audience);
  }
  try {
    const { stdout } = await promisify(execFile)('gcloud', ['auth', 'print-identity-token'], {
      timeout: GCLOUD_TIMEOUT_MS,
      // On Windows, gcloud is a script.
      shell: process.platform === 'win32',
    });
    return stdout.trim();
  } catch {
    throw new Failure(
      'No Google Cloud credentials found: run `gcloud auth login`, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account or to credentials of Workload Identity Federation (docs/ci.md).',
    );
  }
}

/**
 * Workload Identity Federation, as in CI: Google issues no identity token to the workload itself, but one of the
 * service account that it impersonates. `roles/iam.workloadIdentityUser` on it is enough, as the federated token asks.
 */
async function fetchFederatedToken(
  client: BaseExternalAccountClient,
  { service_account_impersonation_url: url, ...federated }: ExternalAccountClientOptions,
  audience: string,
): Promise<string> {
  const [, account] = /([^/:]+):generateAccessToken$/.exec(url ?? '') ?? [];
  if (url === undefined || account === undefined) {
    throw new Failure(
      'The credentials of Workload Identity Federation name no service account, and only a service account can call the API: name one with `service_account` of google-github-actions/auth, or with --service-account of `gcloud iam workload-identity-pools create-cred-config`.',
    );
  }
  try {
    const Client = client.constructor as new (credentials: typeof federated) => BaseExternalAccountClient;
    const { data } = await new Client(federated).request<{ readonly token: string }>({
      method: 'POST',
      url: url.replace(/:generateAccessToken$/, ':generateIdToken'),
      data: { audience, includeEmail: true },
    });
    return data.token;
  } catch (error) {
    throw new Failure(
      `No identity token of ${account} was issued (${describeError(error)}): grant the workload roles/iam.workloadIdentityUser on it (docs/ci.md).`,
    );
  }
}
