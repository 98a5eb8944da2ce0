import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMultipartRelated } from '../../../infra/embedded/cloud-storage/multipart-related.ts';

const resource = JSON.stringify({ name: 'ä' });

function encode(media: Uint8Array, { eol, boundary }: { readonly eol: string; readonly boundary: string }): Buffer {
  const head = [
    `--${boundary}`,
    'Content-Type: application/json',
    '',
    resource,
    `--${boundary}`,
    'content-type: a/b',
    '',
    '',
  ];
  return Buffer.concat([Buffer.from(head.join(eol)), media, Buffer.from(`${eol}--${boundary}--${eol}`)]);
}

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let start = 0, piece = 0; start < bytes.length; piece++) {
    const size = sizes[piece % sizes.length] ?? 1;
    yield bytes.subarray(start, start + size);
    start += size;
  }
}

async function read(contentType: string, body: AsyncIterable<Uint8Array>) {
  const { metadata, mediaType, media } = await readMultipartRelated(contentType, body);
  return { metadata, mediaType, media: Buffer.concat(await Array.fromAsync(media)) };
}

describe('a multipart/related upload', () => {
  it.each([
    ['CR LF and a boundary in double quotes', '\r\n', 'multipart/related; boundary="x=y"'],
    ['CR LF and a plain boundary', '\r\n', 'multipart/related; charset=utf-8; boundary=x=y'],
    ['LF and a boundary in single quotes, as gcloud writes it', '\n', `multipart/related; boundary='x=y'`],
  ])('is read with %s', async (_, eol, contentType) => {
    const media = Buffer.from('line\r\nline\n--x=y is not at the start of a line end: --x=\r\n');
    const escaped = Buffer.from(media.toString().replace('\n--x=y', '\n-- x=y'));
    const body = encode(escaped, { eol, boundary: 'x=y' });
    expect(await read(contentType, inPieces(body, [7]))).toEqual({
      metadata: resource,
      mediaType: 'a/b',
      media: escaped,
    });
  });

  it('returns the exact bytes, however they are split into chunks', async () => {
    const nasty = fc
      .constantFrom('\r', '\n', '-', '--', '\r\n--', '\r\n--b0und', 'ary', '\0', 'x')
      .map((text) => Buffer.from(text));
    const mediaOf = fc
      .array(fc.oneof(nasty, fc.uint8Array({ maxLength: 20 })), { maxLength: 40 })
      .map((parts) => Buffer.concat(parts));
    const boundary = 'b0undary';
    await fc.assert(
      fc.asyncProperty(
        mediaOf,
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
        async (media, sizes) => {
          fc.pre(!media.includes(`\r\n--${boundary}`));
          const upload = await read(
            `multipart/related; boundary=${boundary}`,
            inPieces(encode(media, { eol: '\r\n', boundary }), sizes),
          );
          expect(upload.media.equals(media)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is rejected if it ends at any byte before the closing boundary', async () => {
    const body = encode(Buffer.from('media'), { eol: '\r\n', boundary: 'b' });
    const endOfBoundary = body.lastIndexOf('--b--') + '--b--'.length;
    for (let size = 0; size < endOfBoundary; size++) {
      await expect(read('multipart/related; boundary=b', inPieces(body.subarray(0, size), [16]))).rejects.toThrow();
    }
    expect(
      (await read('multipart/related; boundary=b', inPieces(body.subarray(0, endOfBoundary), [16]))).media.toString(),
    ).toBe('media');
  });

  it.each([
    ['another content type', 'application/json', ''],
    ['no boundary', 'multipart/related', ''],
    ['a body that does not start with the boundary', 'multipart/related; boundary=b', `${'x'.repeat(20_000)}\n--b`],
    ['unterminated headers', 'multipart/related; boundary=b', `--b\r\n${'a: b\r\n'.repeat(5_000)}`],
    ['a resource over 1 MiB', 'multipart/related; boundary=b', `--b\r\n\r\n${'x'.repeat(1_100_000)}`],
    ['a third part', 'multipart/related; boundary=b', '--b\r\n\r\n{}\r\n--b\r\n\r\nmedia\r\n--b\r\n\r\nmore\r\n--b--'],
  ])('is rejected with %s', async (_, contentType, body) => {
    await expect(read(contentType, inPieces(Buffer.from(body), [1_000]))).rejects.toThrow(/[.]$/);
  });
});
