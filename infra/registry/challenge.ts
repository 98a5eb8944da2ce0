/**
 * The way in which a registry wants to be asked (RFC 9110, "WWW-Authenticate"; OCI Distribution, "Token
 * authentication").
 */
export type Challenge =
  | { readonly scheme: 'BASIC' }
  | { readonly scheme: 'BEARER'; readonly realm: string; readonly service: string | null };

/** Registries whose token service has another host. */
const TOKEN_HOSTS: Readonly<Record<string, string>> = {
  'docker.io': 'auth.docker.io',
  'registry.gitlab.com': 'gitlab.com',
};

/** Reads the header of an answer with the status 401; null if there is none that is supported. */
export function readChallenge(header: string | undefined): Challenge | null {
  const bearer = /\bbearer\s+(.*)$/i.exec(header ?? '');
  if (bearer === null) {
    return /\bbasic\b/i.test(header ?? '') ? { scheme: 'BASIC' } : null;
  }
  const pairs = [...(bearer[1] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]);
  const { realm, service = null } = Object.fromEntries(pairs) as { realm?: string; service?: string };
  return realm === undefined ? null : { scheme: 'BEARER', realm, service };
}

/**
 * The address of a token for reading one repository; undefined if the realm is not of the registry's own token service:
 * a registry must not receive what another one issued, nor choose an address that is called with a password.
 */
export function tokenUrlOf(
  { realm, service }: Extract<Challenge, { scheme: 'BEARER' }>,
  registry: { readonly host: string; readonly url: URL; readonly tokenHost?: string | undefined },
  repository: string,
): URL | undefined {
  const { host, url: own, tokenHost = TOKEN_HOSTS[host] } = registry;
  const url = URL.parse(realm);
  const isOwn = url?.host === own.host && url.protocol === own.protocol;
  const isTrusted = url?.protocol === 'https:' && url.host === tokenHost;
  if (url === null || (!isOwn && !isTrusted)) {
    return undefined;
  }
  if (service !== null) {
    url.searchParams.set('service', service);
  }
  url.searchParams.set('scope', `repository:${repository}:pull`);
  return url;
}
