import { join } from 'node:path';
import { openVmIdentityIssuer } from '../../../infra/embedded/compute-engine/vms/identity.ts';
import { openProcessVmProvider } from '../../../infra/embedded/compute-engine/vms/process-vm-provider.ts';
import { openDatabase } from '../../../infra/embedded/data-dir/database.ts';
import type { VmRequest } from '../../../shared/ports/vm-provider.ts';
import { NO_GOOGLE_APIS } from '../embedded/no-google-apis.ts';

/**
 * A cloud to be killed: creates one VM, reports it and keeps running. Arguments: data directory, configuration,
 * request.
 */
const [directory = '', config = '', request = ''] = process.argv.slice(2);
const database = openDatabase(join(directory, 'cloud.sqlite'));
const clock = { now: Date.now };
const vms = await openProcessVmProvider({
  googleApis: NO_GOOGLE_APIS,
  database,
  directory: join(directory, 'vms'),
  clock,
  config: JSON.parse(config),
  identity: await openVmIdentityIssuer({ database, clock, projectId: 'p', serviceAccountEmail: 'vm@p.test' }),
  host: process.env,
  onInterrupted: async () => undefined,
  writeLog: (line) => void process.stderr.write(`${line}\n`),
});
process.stdout.write(`${JSON.stringify(await vms.create(JSON.parse(request) as VmRequest))}\n`);
setInterval(() => undefined, 60_000);
