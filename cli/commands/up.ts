import { once } from 'node:events';
import { access, constants } from 'node:fs/promises';
import { resolve } from 'node:path';
import { findDataDir, nameOf } from '#cli/client/find-cloud.ts';
import { openFunctionsLog } from '#cli/client/functions-log.ts';
import type { Command } from '#cli/core/command.ts';
import { describeError, Failure } from '#cli/core/failure.ts';
import { readNumber } from '#cli/core/read-number.ts';
import { describeEndpoints } from '#cli/render/describe-endpoints.ts';
import { registerCloud, unregisterCloud } from '#infra/embedded/data-dir/running-clouds.ts';

const PORT_MAX = 65_535;

export const up: Command = {
  operands: [],
  flags: [
    { name: 'config', value: 'FILE', summary: 'configuration of zones, machine images and capacity (YAML)' },
    { name: 'api-port', value: 'PORT', summary: 'port of the HTTP API (default: any free port)' },
    { name: 'storage-port', value: 'PORT', summary: 'port of the Cloud Storage API (default: any free port)' },
  ],
  notes: 'State is stored in the data directory and survives crashes of this process; jobs resume at the next start.',
  async run(invocation) {
    const { io, flag, print } = invocation;
    const [api, storage] = ['api-port', 'storage-port'].map((name) => readNumber(invocation, name, { max: PORT_MAX }));
    const ports = { ...(api !== undefined && { api }), ...(storage !== undefined && { storage }) };
    const dataDir = await findDataDir(invocation);
    const configFile = await findConfig(flag('config'), io.cwd);
    const log = openFunctionsLog(dataDir, { onProblem: (line) => io.stderr.write(`${line}\n`) });
    const cloud = await io.startCloud({
      dataDir,
      ports,
      ...(configFile !== undefined && { configFile }),
      writeLog: log.write,
    });
    await registerCloud(io.stateDir, dataDir).catch((error) =>
      io.stderr.write(
        `Commands in other folders need --data-dir, since this cloud was not recorded: ${describeError(error)}\n`,
      ),
    );
    try {
      print({
        json: { ...cloud.endpoints, dataDir, log: log.path },
        text: `${describeEndpoints(nameOf({ dataDir }), cloud.endpoints)}\nlog        ${log.path}\n\nThe embedded cloud is running. Press Ctrl-C to stop it.`,
      });
      if (!io.interrupted.aborted) {
        await once(io.interrupted, 'abort');
      }
      io.stderr.write('Stopping the VMs and the embedded cloud. Press Ctrl-C again to exit without waiting.\n');
    } finally {
      await unregisterCloud(io.stateDir, dataDir).catch(() => undefined);
      await cloud.stop();
    }
    io.stderr.write(`The embedded cloud has stopped. Its state is in ${dataDir}; jobs resume at the next start.\n`);
    return 0;
  },
};

async function findConfig(given: string | undefined, cwd: string): Promise<string | undefined> {
  if (given === undefined) {
    return undefined;
  }
  const path = resolve(cwd, given);
  try {
    await access(path, constants.R_OK);
  } catch (error) {
    throw new Failure(`The configuration file ${path} cannot be read (${describeError(error)}): check --config.`);
  }
  return path;
}
