import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
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

type Failure = { readonly code: number; readonly message: string };

/** Ends the request to another host with the response to the VM, which gets the error of one that is not answered. */
export function bindResponse(
  onward: ClientRequest,
  response: ServerResponse,
  describeError: (error: Error) => Failure,
): void {
  const fail = (error: Error) => {
    const { code, message } = describeError(error);
    if (response.headersSent) {
      response.destroy();
    } else {
      sendError(response, code, message);
    }
  };
  // The header that asks for another protocol was not sent on. The socket has no handler of errors any more.
  onward.once('upgrade', (_, socket) => {
    socket.destroy();
    fail(new Error(`${onward.getHeader('host')} changed to another protocol`));
  });
  onward.once('error', fail);
  response.once('close', () => onward.destroy());
}
