import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';

export function describeEndpoints(endpoints: Endpoints): string {
  const facts: readonly (readonly [string, string])[] = [
    ['dashboard', `${endpoints.api}/`],
    ['project', endpoints.projectId],
    ['upload to', `gs://${endpoints.uploadBucket}/`],
    ['output in', `gs://${endpoints.jobsBucket}/`],
    ['API', endpoints.api],
    ['storage', endpoints.storage],
    ['Pub/Sub', endpoints.pubsub],
    ['Compute', endpoints.compute],
    ['secrets', endpoints.secretManager],
    ['admin', endpoints.admin],
    ['process', String(endpoints.pid)],
  ];
  return facts.map(([name, value]) => `${name.padEnd(11)}${value}`).join('\n');
}
