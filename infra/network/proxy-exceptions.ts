import * as http from 'node:http';

const EXCEPTIONS = ['NO_PROXY', 'no_proxy'] as const;
const PROXY = /^(?!no_)\w+_proxy$/i;
/** With brackets too, as the host name of a URL has them. */
const LOOPBACK_HOSTS = ['127.0.0.1', 'localhost', '::1', '[::1]'];

/**
 * Changes an environment that names a proxy, so that no client of this process or of the programs that it starts
 * connects to this machine itself through the proxy. NO_PROXY and no_proxy both get the loopback hosts, since clients
 * read either; a name that is not set gets the entries of the other. `*` excepts every host, which not every client
 * understands: the proxies are removed instead.
 */
export function exceptLoopback(environment: Record<string, string | undefined>): void {
  const proxies = Object.keys(environment).filter((name) => PROXY.test(name) && environment[name]);
  const given = (name: string) => (environment[name] ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  const [upper, lower] = [given('NO_PROXY'), given('no_proxy')];
  if ([...upper, ...lower].includes('*')) {
    for (const name of proxies) {
      delete environment[name];
    }
  } else if (proxies.length > 0) {
    for (const name of EXCEPTIONS) {
      const own = given(name);
      environment[name] = [...new Set([...(own.length > 0 ? own : [...upper, ...lower]), ...LOOPBACK_HOSTS])].join(',');
    }
  }
  if (environment.NODE_USE_ENV_PROXY === '1') {
    // Node.js has read the variables when it started. Missing before Node.js 24.14.
    http.setGlobalProxyFromEnv?.(environment);
  }
}
