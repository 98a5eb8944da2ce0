import { GoogleAuth, PassThroughClient } from 'google-auth-library';

const SCOPES = ['https://www.googleapis.com/auth/cloud-platform'];

/**
 * The function's credentials for Google's own endpoints (undefined); none for any other endpoint, which must not
 * receive access tokens.
 */
export function authFor(endpoint: string | undefined): GoogleAuth {
  return endpoint === undefined
    ? new GoogleAuth({ scopes: SCOPES })
    : new GoogleAuth({ authClient: new PassThroughClient() });
}

/** The URL of a service, or of its emulator, without a trailing slash. */
export function urlOf(
  service: 'compute' | 'logging' | 'secretmanager' | 'storage',
  endpoint: string | undefined,
): string {
  return (endpoint ?? `https://${service}.googleapis.com`).replace(/\/$/, '');
}

/** Options of a generated Google client (google-gax) for an endpoint; undefined is Google's own. */
export function clientOptionsFor(endpoint: string | undefined) {
  const auth = authFor(endpoint);
  return endpoint === undefined ? { auth } : { auth, ...splitEndpoint(new URL(endpoint)) };
}

/** The clients take protocol, host and port as separate options. */
function splitEndpoint({ protocol, hostname, port }: URL) {
  const isPlain = protocol === 'http:';
  return { apiEndpoint: hostname, protocol: protocol.replace(':', ''), port: Number(port || (isPlain ? 80 : 443)) };
}
