import { STATUS_CODES } from 'node:http';
import { Hono } from 'hono';
import { refuseRequest } from '#infra/embedded/doors/compute-error.ts';
import { readBoundedText } from '#infra/embedded/doors/read-bounded-text.ts';

const BODY_BYTES_MAX = 8 * 2 ** 20;

/** Compute API docs, "Batching requests": up to 1000 calls in one. */
const CALLS_COUNT_MAX = 1_000;

type Call = { readonly contentId: string; readonly method: string; readonly path: string; readonly body: string };

/**
 * Many calls in one request, as gcloud sends them for several VMs: each part of a multipart/mixed body is an HTTP
 * request, each part of the answer its response (docs, "Batching requests").
 */
export function createBatchRoute(send: (request: Request) => Response | Promise<Response>): Hono {
  const route = new Hono();
  route.post('/', async ({ req }) => {
    const boundary = boundaryOf(req.header('content-type') ?? '');
    const text = await readBoundedText(req.raw.body ?? (async function* () {})(), BODY_BYTES_MAX);
    const calls = readCalls(text, boundary);
    const { origin } = new URL(req.url);
    const parts = await Promise.all(
      calls.map(async ({ contentId, method, path, body }) => {
        const init = { method, ...(method === 'POST' && { body, headers: { 'content-type': 'application/json' } }) };
        return renderPart(contentId, await send(new Request(`${origin}${path}`, init)));
      }),
    );
    const answerBoundary = `batch_${crypto.randomUUID()}`;
    const answer = `${parts.map((part) => `--${answerBoundary}\r\n${part}\r\n`).join('')}--${answerBoundary}--\r\n`;
    return new Response(answer, { headers: { 'content-type': `multipart/mixed; boundary=${answerBoundary}` } });
  });
  return route;
}

function boundaryOf(contentType: string): string {
  const [, quoted, plain] = /^multipart\/mixed\b.*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) {
    throw refuseRequest(
      'invalid',
      `A batch needs the content type multipart/mixed with a boundary, not ${contentType}.`,
    );
  }
  return boundary;
}

function readCalls(text: string, boundary: string): readonly Call[] {
  const parts = `\n${text.replaceAll('\r\n', '\n')}`.split(`\n--${boundary}`).slice(1, -1);
  if (parts.length === 0 || parts.length > CALLS_COUNT_MAX) {
    throw refuseRequest('invalid', `A batch has 1 to ${CALLS_COUNT_MAX} calls, not ${parts.length}.`);
  }
  return parts.map(readCall);
}

function readCall(part: string): Call {
  const [, headers = '', request = ''] = /^\n([\s\S]*?)\n\n([\s\S]*)$/.exec(part) ?? [];
  const [, method = '', path = '', body = ''] =
    /^([A-Z]+) (\/compute\/v1\/\S+) [^\n]*(?:\n[^\n]+)*(?:\n\n([\s\S]*)|\n?)$/.exec(request) ?? [];
  if (method === '') {
    throw refuseRequest('invalid', 'Every part of a batch must be a request for a path under /compute/v1/.');
  }
  return { contentId: /^content-id: *<([^>\n]*)>/im.exec(headers)?.[1] ?? '', method, path, body: body.trim() };
}

async function renderPart(contentId: string, response: Response): Promise<string> {
  const body = await response.text();
  const lines = [
    'Content-Type: application/http',
    ...(contentId === '' ? [] : [`Content-ID: <response-${contentId}>`]),
    '',
    `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ''}`,
    `Content-Type: ${response.headers.get('content-type') ?? 'application/json'}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ];
  return lines.join('\r\n');
}
