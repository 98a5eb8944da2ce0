import { STATUS_CODES } from 'node:http';
import { Hono } from 'hono';
import { readBoundedText } from '#infra/embedded/http/body.ts';

const BODY_BYTES_MAX = 8 * 2 ** 20;

type Call = { readonly contentId: string; readonly method: string; readonly path: string; readonly body: string };

export type BatchOptions = {
  /** Where the methods of the API lie: `/compute/v1/`. */
  readonly path: string;
  readonly callsCountMax: number;
  /** What is thrown when the batch itself is wrong. */
  readonly refuse: (message: string) => Error;
  readonly send: (request: Request) => Response | Promise<Response>;
};

/**
 * Many calls in one request, as gcloud sends them for several VMs and Python's `Client.batch` for several objects: each
 * part of a multipart/mixed body is an HTTP request, each part of the answer its response (Compute Engine docs,
 * "Batching requests"; Cloud Storage docs, "Sending batch requests").
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
        const isBare = method === 'GET' || method === 'HEAD';
        const init = { method, ...(!isBare && { body, headers: { 'content-type': 'application/json' } }) };
        return renderPart(contentId, await options.send(new Request(`${origin}${path}`, init)));
      }),
    );
    const answerBoundary = `batch_${crypto.randomUUID()}`;
    const answer = `${parts.map((part) => `--${answerBoundary}\r\n${part}\r\n`).join('')}--${answerBoundary}--\r\n`;
    return new Response(answer, { headers: { 'content-type': `multipart/mixed; boundary=${answerBoundary}` } });
  });
  return route;
}

function boundaryOf(contentType: string, { refuse }: BatchOptions): string {
  const [, quoted, plain] = /^multipart\/mixed\b.*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) {
    throw refuse(`A batch needs the content type multipart/mixed with a boundary, not ${contentType}.`);
  }
  return boundary;
}

function readCalls(text: string, boundary: string, options: BatchOptions): readonly Call[] {
  const parts = `\n${text.replaceAll('\r\n', '\n')}`.split(`\n--${boundary}`).slice(1, -1);
  if (parts.length === 0 || parts.length > options.callsCountMax) {
    throw options.refuse(`A batch has 1 to ${options.callsCountMax} calls, not ${parts.length}.`);
  }
  return parts.map((part) => readCall(part, options));
}

function readCall(part: string, options: BatchOptions): Call {
  const [, headers = '', request = ''] = /^\n([\s\S]*?)\n\n([\s\S]*)$/.exec(part) ?? [];
  // Python writes whole addresses.
  const [, method = '', path = '', body = ''] =
    /^([A-Z]+) (?:https?:\/\/[^/\s]+)?(\/\S+) [^\n]*(?:\n[^\n]+)*(?:\n\n([\s\S]*)|\n?)$/.exec(request) ?? [];
  if (!path.startsWith(options.path)) {
    throw options.refuse(`Every part of a batch must be a request for a path under ${options.path}.`);
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
