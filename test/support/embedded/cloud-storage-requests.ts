import { afterAll, beforeAll, expect } from 'vitest';
import { type CloudStorageUnderTest, openCloudStorage } from './cloud-storage-under-test.ts';

export const bucket = 'test-bucket';
export const JSON_TYPE = { 'content-type': 'application/json' };

/** Opens a Cloud Storage emulator with one bucket for all tests of a file; returns helpers for requests. */
export function openCloudStorageForAllTests() {
  let opened: CloudStorageUnderTest;
  const server = () => opened;
  const api = (path: string) => `${server().origin()}/storage/v1${path}`;
  const objectUrl = (name: string) => api(`/b/${bucket}/o/${encodeURIComponent(name)}`);
  const uploadUrl = (parameters: Record<string, string>) =>
    `${server().origin()}/upload/storage/v1/b/${bucket}/o?${new URLSearchParams(parameters)}`;

  beforeAll(async () => {
    opened = await openCloudStorage();
    const created = await fetch(api('/b?project=p'), {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify({ name: bucket }),
    });
    expect(created.status).toBe(200);
  });
  afterAll(() => opened.close());

  async function upload(
    name: string,
    body: string | Uint8Array<ArrayBuffer>,
    init: { parameters?: Record<string, string>; headers?: Record<string, string> } = {},
  ) {
    const url = uploadUrl({ uploadType: 'media', name, ...init.parameters });
    return await fetch(url, { method: 'POST', headers: { 'content-type': 'text/plain', ...init.headers }, body });
  }

  return { server, api, objectUrl, uploadUrl, upload };
}

export async function generationOf(response: Response): Promise<string> {
  return ((await response.json()) as { generation: string }).generation;
}

export async function expectProblem(response: Response, status: number, reason: string): Promise<void> {
  const body = (await response.json()) as { error: { code: number; message: string; errors: { reason: string }[] } };
  expect([response.status, body.error.code, body.error.errors[0]?.reason]).toEqual([status, status, reason]);
  expect(body.error.message).not.toBe('');
}
