import { STATUS_CODES } from 'node:http';
import { Hono } from 'hono';
import { readBoundedText } from '#infra/embedded/http/body.ts';

const BODY_BYTES_MAX = 8 * 2 ** 20;

type Call = { readonly contentId: string; readonly method: string; readonly path: string; readonly body: string };

export type BatchOptions = {
  /** The prefix of the API's methods: `/compute/v1/`. */
  readonly path: string;
  readonly callsCountMax: number;
  /** The error to throw if the batch itself is invalid. */
  readonly toError: (message: string) => Error;
  readonly send: (request: Request) => Response | Promise<Response>;
};

/**
 * Several calls in one request, as gcloud sends them for several VMs and Python's `Client.batch` for several objects:
 * each part of the multipart/mixed request body is an HTTP request, each part of the response body its response
 * (Compute Engine docs, "Batching requests"; Cloud Storage docs, "Sending batch requests").
 */
export function createBatchRoute(options: BatchOptions): Hono {
  const route = new Hono();
  route.post('/', async ({ req }) => {
    const boundary = boundaryOf(req.header('content-type') ?? '', options);
    const text = await readBoundedText(req.raw.body ?? (async function* () {})(), BODY_BYTES_MAX);
    const calls = readCalls(text, boundary, options);
    const { origin } = new URL(req.url);
    const parts = await Promise.all(
      calls.map(async ({ contentId, method, path, body }) => {
        const hasNoBody = method === 'GET' || method === 'HEAD';
        const init = { method, ...(!hasNoBody && { body, headers: { 'content-type': 'application/json' } }) };
        return renderPart(contentId, await options.send(new Request(`${origin}${path}`, init)));
      }),
    );
    const responseBoundary = `batch_${crypto.randomUUID()}`;
    const body = `${parts.map((part) => `--${responseBoundary}\r\n${part}\r\n`).join('')}--${responseBoundary}--\r\n`;
    return new Response(body, { headers: { 'content-type': `multipart/mixed; boundary=${responseBoundary}` } });
  });
  return route;
}

function boundaryOf(contentType: string, { toError }: BatchOptions): string {
  const [, quoted, plain] = /^multipart\/mixed\b.*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) {
    throw toError(`A batch needs the content type multipart/mixed with a boundary, not ${contentType}.`);
  }
  return boundary;
}

function readCalls(text: string, boundary: string, options: BatchOptions): readonly Call[] {
  const parts = `\n${text.replaceAll('\r\n', '\n')}`.split(`\n--${boundary}`).slice(1, -1);
  if (parts.length === 0 || parts.length > options.callsCountMax) {
    throw options.toError(`A batch has 1 to ${options.callsCountMax} calls, not ${parts.length}.`);
  }
  return parts.map((part) => readCall(part, options));
}

function readCall(part: string, options: BatchOptions): Call {
  const [, headers = '', request = ''] = /^\n([\s\S]*?)\n\n([\s\S]*)$/.exec(part) ?? [];
  // The Python client writes absolute URLs.
  const [, method = '', path = '', body = ''] =
    /^([A-Z]+) (?:https?:\/\/[^/\s]+)?(\/\S+) [^\n]*(?:\n[^\n]+)*(?:\n\n([\s\S]*)|\n?)$/.exec(request) ?? [];
  if (!path.startsWith(options.path)) {
    throw options.toError(`Every part of a batch must be a request for a path under ${options.path}.`);
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
