import { afterAll, beforeAll, expect } from 'vitest';
import { openStorageDoor, type StorageDoorUnderTest } from './cloud-storage-under-test.ts';

export const bucket = 'door-bucket';
export const JSON_TYPE = { 'content-type': 'application/json' };

/** Opens a storage door with one bucket for the tests of a file, and says how to ask it for things. */
export function openDoorForTests() {
  let opened: StorageDoorUnderTest;
  const door = () => opened;
  const api = (path: string) => `${door().origin()}/storage/v1${path}`;
  const objectUrl = (name: string) => api(`/b/${bucket}/o/${encodeURIComponent(name)}`);
  const uploadUrl = (parameters: Record<string, string>) =>
    `${door().origin()}/upload/storage/v1/b/${bucket}/o?${new URLSearchParams(parameters)}`;

  beforeAll(async () => {
    opened = await openStorageDoor();
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

  return { door, api, objectUrl, uploadUrl, upload };
}

export async function generationOf(response: Response): Promise<string> {
  return ((await response.json()) as { generation: string }).generation;
}

export async function expectProblem(response: Response, status: number, reason: string): Promise<void> {
  const body = (await response.json()) as { error: { code: number; message: string; errors: { reason: string }[] } };
  expect([response.status, body.error.code, body.error.errors[0]?.reason]).toEqual([status, status, reason]);
  expect(body.error.message).not.toBe('');
}
