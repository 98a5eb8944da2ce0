import { authFor } from '#infra/google-cloud/compose/auth-for.ts';

/** Options of a generated Google client (google-gax) for an endpoint; undefined is Google's own. */
export function clientOptionsFor(endpoint: string | undefined) {
  const auth = authFor(endpoint);
  return endpoint === undefined ? { auth } : { auth, ...partsOf(new URL(endpoint)) };
}

/** The clients take an address in parts. */
function partsOf({ protocol, hostname, port }: URL) {
  const isPlain = protocol === 'http:';
  return { apiEndpoint: hostname, protocol: protocol.replace(':', ''), port: Number(port || (isPlain ? 80 : 443)) };
}
