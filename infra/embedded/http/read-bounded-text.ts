import { refusal } from '#infra/embedded/cloud-storage/error.ts';

/** All the bytes as text, which may be no more than `bytesMax`. */
export async function readBoundedText(bytes: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of bytes) {
    sizeBytes += chunk.length;
    if (sizeBytes > bytesMax) {
      throw refusal('TOO_LARGE', `The description in the request is over the limit of ${bytesMax} bytes. Shorten it.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
