import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';

/** Ports that are kept across restarts: surviving VMs and users' settings refer to them. 0 means not assigned yet. */
const serverPortsSchema = z.object({
  storage: z.int().min(0).max(65_535).default(0),
  cloud: z.int().min(0).max(65_535).default(0),
  api: z.int().min(0).max(65_535).default(0),
  heartbeat: z.int().min(0).max(65_535).default(0),
});

export type ServerPorts = z.infer<typeof serverPortsSchema>;

const FILE_NAME = 'ports.json';

/** The ports of the last run; 0 for those that had none. */
export async function readServerPorts(dataDir: string): Promise<ServerPorts> {
  try {
    return serverPortsSchema.parse(JSON.parse(await readFile(join(dataDir, FILE_NAME), 'utf8')));
  } catch {
    // Without the file any port is acceptable; a VM that was given another one powers itself off.
    return serverPortsSchema.parse({});
  }
}

export async function writeServerPorts(dataDir: string, ports: ServerPorts): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await writeFile(join(dataDir, FILE_NAME), JSON.stringify(ports));
}
