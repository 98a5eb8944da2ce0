import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MessageBus } from '#shared/ports/message-bus.ts';
import type { BusProcessSettings, PublishRequest, PublishResponse } from '../support/contract/embedded-bus-process.ts';
import { type BusUnderTest, describeMessageBusContract, type PushSubscription } from './message-bus.contract.ts';

const PROCESS = fileURLToPath(new URL('../support/contract/embedded-bus-process.ts', import.meta.url));
const DELIVERIES_MAX = 4;
const BACKOFF_MS_MIN = 200;

describeMessageBusContract('The SQLite queue with its dispatcher', openInProcess);

async function openInProcess(subscriptions: readonly PushSubscription[]): Promise<BusUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-contract-'));
  const settings = { databasePath: join(directory, 'state.sqlite'), subscriptions, deliveriesMax: DELIVERIES_MAX };
  let process = startBusProcess(settings);

  return {
    bus: { publish: (...message) => process.bus.publish(...message) },
    deliveriesMax: DELIVERIES_MAX,
    backoffMsMin: BACKOFF_MS_MIN,
    async killAndRestart() {
      await process.kill();
      process = startBusProcess(settings);
    },
    async close() {
      await process.kill();
      await rm(directory, { recursive: true });
    },
  };
}

function startBusProcess(settings: BusProcessSettings) {
  const child = fork(PROCESS, [JSON.stringify(settings)], { execArgv: [] });
  const pending = new Map<number, (messageId: string) => void>();
  let requests = 0;
  child.on('message', ({ requestId, messageId }: PublishResponse) => pending.get(requestId)?.(messageId));
  const bus: MessageBus = {
    publish(topic, data, attributes) {
      requests += 1;
      const request: PublishRequest = { requestId: requests, topic, data, attributes };
      return new Promise((resolve) => {
        pending.set(request.requestId, resolve);
        child.send(request);
      });
    },
  };
  return {
    bus,
    async kill() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
