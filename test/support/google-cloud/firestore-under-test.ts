import { randomUUID } from 'node:crypto';
import { Firestore } from '@google-cloud/firestore';
import type { OpenStore } from '../contract/store-under-test.ts';

/** Opens a store on the emulator, where every project id has its own database. */
export function onFirestore<Store>(
  host: string,
  create: (firestore: Firestore, projectId: string) => Store,
): OpenStore<Store> {
  return async () => {
    const projectId = `test-${randomUUID()}`;
    const clients: Firestore[] = [];
    const connect = async () => {
      const firestore = new Firestore({ projectId, host, ssl: false });
      clients.push(firestore);
      return create(firestore, projectId);
    };
    return {
      store: await connect(),
      connect,
      async close() {
        await Promise.all(clients.map((client) => client.terminate()));
      },
    };
  };
}
