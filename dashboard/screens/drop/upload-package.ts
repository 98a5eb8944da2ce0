import { ApiError } from '#dashboard/client/api-error.ts';
import { send } from '#dashboard/client/request.ts';
import { formatBytes } from '#shared/text/format-number.ts';

/**
 * Equal to UPLOAD_PART_BYTES_MAX and UPLOAD_PARTS_MAX of shared/protocol/submission.ts, whose schemas the page does not
 * load.
 */
const PART_BYTES_MAX = 8 << 20;
const PARTS_MAX = 64;
const TRIES_MAX = 4;
const RETRY_MS = 1_000;

export type Uploaded = { readonly uploadId: string; readonly fileName: string; readonly partCount: number };

export type UploadOptions = {
  readonly onProgress: (fraction: number) => void;
  readonly signal: AbortSignal;
};

/** Uploads a package in parts; a part that fails is sent again. Throws ApiError. */
export async function uploadPackage(
  fileName: string,
  content: Blob,
  { onProgress, signal }: UploadOptions,
): Promise<Uploaded> {
  const partCount = Math.max(1, Math.ceil(content.size / PART_BYTES_MAX));
  if (partCount > PARTS_MAX) {
    throw new ApiError(`The package has ${formatBytes(content.size)}.`, {
      status: 413,
      remedy: `The page uploads at most ${formatBytes(PARTS_MAX * PART_BYTES_MAX)}: put training data into a bucket, or copy the package with \`dropforge cp\`.`,
    });
  }
  const uploadId = crypto.randomUUID().replaceAll('-', '');
  for (let part = 1; part <= partCount; part += 1) {
    const body = content.slice((part - 1) * PART_BYTES_MAX, part * PART_BYTES_MAX);
    await sendPart(`/v1/uploads/${uploadId}/parts/${part}`, body, signal);
    onProgress(part / partCount);
  }
  return { uploadId, fileName: toFileName(fileName), partCount };
}

async function sendPart(path: string, body: Blob, signal: AbortSignal): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream' };
  for (let tries = 1; ; tries += 1) {
    try {
      await send(path, { method: 'PUT', headers, body, signal });
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isTransient || tries >= TRIES_MAX) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS * 2 ** tries));
    }
  }
}

/** A name that the API accepts: its extension decides how the package is read. */
function toFileName(name: string): string {
  const allowed = name.replaceAll(/[^\w.+-]+/g, '_').replace(/^[^\w]+/, '');
  return allowed === '' ? 'package' : allowed.slice(-200);
}
