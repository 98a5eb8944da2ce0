import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PRODUCT_ROOT } from '#infra/product-root.ts';

/** Returns the value of the metadata attribute `startup-script`. */
export function readStartupScript(): Promise<string> {
  return readFile(join(PRODUCT_ROOT, 'infra/vm-agent/startup.sh'), 'utf8');
}

/** Returns the value of the metadata attribute `shutdown-script`. */
export function readShutdownScript(): Promise<string> {
  return readFile(join(PRODUCT_ROOT, 'infra/vm-agent/shutdown.sh'), 'utf8');
}
