import { readFile } from 'node:fs/promises';

const HERE = new URL('.', import.meta.url);

/** Returns the value of the metadata attribute `startup-script`. */
export function readStartupScript(): Promise<string> {
  return readFile(new URL('startup.sh', HERE), 'utf8');
}

/** Returns the value of the metadata attribute `shutdown-script`. */
export function readShutdownScript(): Promise<string> {
  return readFile(new URL('shutdown.sh', HERE), 'utf8');
}
