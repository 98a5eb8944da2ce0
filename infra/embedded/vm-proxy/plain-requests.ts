import { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse, request as sendRequest } from 'node:http';
import { request as sendSecureRequest } from 'node:https';
import { bindResponse, passOn } from '#infra/embedded/vm-proxy/answers.ts';
import { sendError } from '#infra/embedded/vm-proxy/api-error.ts';
import { isLocalHost, LocalAddressError, lookupRemote } from '#infra/embedded/vm-proxy/local-addresses.ts';
import { type ChooseUpstream, proxyAuthorizationOf } from '#infra/embedded/vm-proxy/upstream.ts';
import { hostOf } from '#infra/network/addresses.ts';

/** Headers of one connection, which a proxy does not forward (RFC 9110, section 7.6.1). */
const HOP_HEADERS = ['connection', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'upgrade'];

/** Sends an http:// request on to its host, through the proxy of this machine if it has one. */
export function forwardPlain(
  url: URL,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  chooseUpstream: ChooseUpstream,
): void {
  const host = hostOf(url);
  if (isLocalHost(host)) {
    sendError(response, 403, new LocalAddressError(host).message);
    return;
  }
  const headers: OutgoingHttpHeaders = { ...request.headers, host: url.host };
  for (const name of HOP_HEADERS) {
    delete headers[name];
  }
  const upstream = chooseUpstream({ scheme: 'http', host, port: Number(url.port || 80) });
  const { method } = request;
  const authorization = upstream && proxyAuthorizationOf(upstream);
  const onward =
    upstream === undefined
      ? sendRequest(url, { method, headers, lookup: lookupRemote })
      : (upstream.protocol === 'https:' ? sendSecureRequest : sendRequest)({
          host: hostOf(upstream),
          port: upstream.port || (upstream.protocol === 'https:' ? 443 : 80),
          method,
          path: url.href,
          headers: { ...headers, ...(authorization !== undefined && { 'proxy-authorization': authorization }) },
        });
  onward.once('response', (answer) => {
    const { connection: _, 'keep-alive': __, 'proxy-authenticate': ___, ...answered } = answer.headers;
    passOn(answer, answered, response);
  });
  bindResponse(onward, response, (error) => ({
    code: error instanceof LocalAddressError ? 403 : 502,
    message: error.message,
  }));
  request.pipe(onward);
}
