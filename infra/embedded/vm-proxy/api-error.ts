import { type ServerResponse, STATUS_CODES } from 'node:http';

const REASON_CHARACTERS_MAX = 200;

/** An error in the format of Google's APIs. */
export function sendError(response: ServerResponse, code: number, message: string): void {
  const status = { 400: 'INVALID_ARGUMENT', 403: 'PERMISSION_DENIED', 501: 'UNIMPLEMENTED' }[code] ?? 'UNAVAILABLE';
  response
    .writeHead(code, statusMessage(code, message), { 'Content-Type': 'application/json' })
    .end(JSON.stringify({ error: { code, message, status } }));
}

/** For the status line, with the reason: many clients show no more than that. */
export function statusMessage(code: number, reason: string): string {
  return `${STATUS_CODES[code]}: ${reason.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, REASON_CHARACTERS_MAX)}`;
}
