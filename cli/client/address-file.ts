import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type AddressFile = {
  readonly path: string;
  remove(): Promise<void>;
};

/**
 * Writes a page that opens an address, into a folder that only this user can read. All users of a machine see the
 * arguments of its processes, so an address with a token is not an argument of the system's opener.
 */
export async function writeAddressFile(address: string): Promise<AddressFile> {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-page-'));
  const path = join(folder, 'dashboard.html');
  const url = new URL(address).href.replaceAll('&', '&amp;').replaceAll('"', '%22');
  const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=${url}"><title>Dropforge</title>`;
  await writeFile(path, page, { mode: 0o600 });
  return { path, remove: () => rm(folder, { recursive: true, force: true }) };
}
