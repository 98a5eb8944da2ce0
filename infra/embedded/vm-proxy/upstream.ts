import { isIP } from 'node:net';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';

/** The proxy of this machine through which its own connections to a host go; undefined if they are direct. */
export type ChooseUpstream = (target: {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}) => URL | undefined;

/**
 * Reads http_proxy, https_proxy, all_proxy and no_proxy, in lowercase first, as curl does. A proxy that does not speak
 * HTTP is ignored, since only HTTP proxies can be chained.
 */
export function readUpstream(environment: Environment): ChooseUpstream {
  const read = (name: string) => environment[name] || environment[name.toUpperCase()] || undefined;
  const exceptions = (read('no_proxy') ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  return ({ scheme, host, port }) => {
    const proxy = parseProxy(read(`${scheme}_proxy`) ?? read('all_proxy'));
    return exceptions.some((exception) => isExcepted(exception, host, port)) ? undefined : proxy;
  };
}

function parseProxy(text: string | undefined): URL | undefined {
  if (text === undefined) {
    return undefined;
  }
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  return url !== null && ['http:', 'https:'].includes(url.protocol) ? url : undefined;
}

/** An entry is `*`, a host, a domain with or without a leading dot, or one of these with a port. */
function isExcepted(exception: string, host: string, port: number): boolean {
  const [, name = '', exceptedPort] = /^(.*?)(?::(\d+))?$/.exec(exception) ?? [];
  const isNumeric = isIP(exception) !== 0;
  if (!isNumeric && exceptedPort !== undefined && Number(exceptedPort) !== port) {
    return false;
  }
  const domain = (isNumeric ? exception : name).toLowerCase().replace(/^\*?\./, '');
  return domain === '*' || host === domain || host.endsWith(`.${domain}`);
}

/** The value of Proxy-Authorization for the credentials in a proxy's URL; undefined without credentials. */
export function proxyAuthorizationOf({ username, password }: URL): string | undefined {
  return username === ''
    ? undefined
    : `Basic ${Buffer.from(`${decode(username)}:${decode(password)}`).toString('base64')}`;
}

/** A user name or password as it was meant: percent signs that encode nothing are a part of it. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
