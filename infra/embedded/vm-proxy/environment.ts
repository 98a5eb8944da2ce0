import { hostname } from 'node:os';
import { hostNameOf, isGoogleApiHost, isMetadataHost } from '#infra/embedded/vm-proxy/google-hosts.ts';
import type { TrustFiles } from '#infra/embedded/vm-proxy/trust.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Hosts on this machine, such as the other VMs of a job, are not connected to through a proxy. */
const LOCAL_HOSTS = ['localhost', '127.0.0.1', '127.0.0.0/8', '::1', '0.0.0.0', hostname().toLowerCase()];

/**
 * The variables by which the programs of a VM reach the embedded cloud's Cloud Storage as if it were Google's, through
 * the proxy at `proxy` (HOST:PORT). `host` is the environment of this machine.
 */
export function proxyVariablesOf(host: Environment, proxy: string, { bundle, authority }: TrustFiles) {
  const url = `http://${proxy}`;
  const exceptions = proxyExceptionsOf(host);
  return {
    http_proxy: url,
    HTTP_PROXY: url,
    https_proxy: url,
    HTTPS_PROXY: url,
    no_proxy: exceptions,
    NO_PROXY: exceptions,
    SSL_CERT_FILE: bundle,
    REQUESTS_CA_BUNDLE: bundle,
    // curl, and the curl in TensorFlow.
    CURL_CA_BUNDLE: bundle,
    // gsutil; gcloud.
    HTTPLIB2_CA_CERTS: bundle,
    CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE: bundle,
    TENSORSTORE_CA_BUNDLE: bundle,
    GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: bundle,
    NODE_EXTRA_CA_CERTS: authority,
    // aiohttp, which gcsfs uses, ignores proxies by default.
    FSSPEC_GS_SESSION_KWARGS: '{"trust_env": true}',
    FSSPEC_GCS_SESSION_KWARGS: '{"trust_env": true}',
    // The roots of TensorBoard's data server are compiled in. Without it, TensorBoard loads with Python.
    TENSORBOARD_DATA_SERVER_BINARY: '/nonexistent',
  };
}

/** The machine's own exceptions, without those by which a program would reach Google instead of the embedded cloud. */
function proxyExceptionsOf(host: Environment): string {
  const given = (host.no_proxy || host.NO_PROXY || '').split(/[\s,]+/).filter((entry) => entry !== '');
  const isOfGoogle = (entry: string) => {
    const name = hostNameOf(entry.replace(/^\*?\./, ''));
    return ['*', 'com', 'google.com'].includes(name) || isGoogleApiHost(name) || isMetadataHost(name);
  };
  return [...new Set([...given.filter((entry) => !isOfGoogle(entry)), ...LOCAL_HOSTS])].join(',');
}
