import type { ClientRequest, IncomingMessage } from 'node:http';

/** The response to a request that was sent. Rejects with the error of the connection, or with the code NO_ANSWER. */
export function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once('response', resolve).on('error', reject);
  // An answer of 101 ends the request without a response and without an error.
  request.once('close', () => reject(Object.assign(new Error('closed'), { code: 'NO_ANSWER' })));
  return promise;
}
