import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { sendError } from '#infra/embedded/vm-proxy/api-error.ts';

/** Passes an answer of another host on; 502 if it is one that Node.js reads but does not write, such as status 000. */
export function passOn(answer: IncomingMessage, headers: IncomingHttpHeaders, response: ServerResponse): void {
  try {
    response.writeHead(answer.statusCode ?? 0, headers);
  } catch (error) {
    answer.destroy();
    const reason = error instanceof Error ? error.message : String(error);
    sendError(response, 502, `The host sent an answer that is not valid HTTP: ${reason}`);
    return;
  }
  answer.pipe(response);
  answer.once('error', () => response.destroy());
}
