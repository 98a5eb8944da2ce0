import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** The ports that outlive the process: VMs that survived it, and users' settings, know them. */
const portBookSchema = z.object({
  storage: z.int().min(0).max(65_535).default(0),
  cloud: z.int().min(0).max(65_535).default(0),
  api: z.int().min(0).max(65_535).default(0),
  heartbeat: z.int().min(0).max(65_535).default(0),
});

export type PortBook = z.infer<typeof portBookSchema>;

const FILE_NAME = 'ports.json';

/** The ports of the last run; 0 where there was none. */
export async function readPortBook(dataDir: string): Promise<PortBook> {
  try {
    return portBookSchema.parse(JSON.parse(await readFile(join(dataDir, FILE_NAME), 'utf8')));
  } catch {
    // Without the book any port will do; a VM that knew another one powers itself off.
    return portBookSchema.parse({});
  }
}

export async function writePortBook(dataDir: string, book: PortBook): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await writeFile(join(dataDir, FILE_NAME), JSON.stringify(book));
}
