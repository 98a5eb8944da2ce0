/** Reads a stream up to just over a limit, to detect that it is too large. */
export async function readStart(stream: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    sizeBytes += chunk.byteLength;
    if (sizeBytes > bytesMax) {
      break;
    }
  }
  return Buffer.concat(chunks);
}
