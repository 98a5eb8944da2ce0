import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';

type Facts = readonly (readonly [string, string])[];

/** The properties that embedded clouds and deployments share. */
type Buckets = Pick<Endpoints, 'projectId' | 'uploadBucket' | 'jobsBucket'>;

type Deployment = Buckets & {
  readonly name: string;
  readonly api: { readonly url: string };
  readonly pageUrl: string | null;
  readonly topics: { readonly submit: string | null } | null;
};

export function describeEndpoints(name: string, cloud: Endpoints): string {
  return formatFacts([
    ['cloud', name],
    ['dashboard', `${cloud.api}/`],
    ...factsOf(cloud, cloud.api),
    ['storage', cloud.storage],
    ['Pub/Sub', cloud.pubsub],
    ['Compute', cloud.compute],
    ['secrets', cloud.secretManager],
    ['admin', cloud.admin],
    ['process', String(cloud.pid)],
  ]);
}

export function describeDeployment(target: Deployment, running: string): string {
  const { name, pageUrl, topics } = target;
  return formatFacts([
    ['cloud', name],
    ['dashboard', pageUrl ?? 'run `dropforge dashboard`'],
    ...factsOf(target, target.api.url),
    ...(topics?.submit ? [['submit to', topics.submit] as const] : []),
    ['running', running],
  ]);
}

function factsOf({ projectId, uploadBucket, jobsBucket }: Buckets, api: string): Facts {
  return [
    ['project', projectId],
    ['upload to', `gs://${uploadBucket}/`],
    ['output in', `gs://${jobsBucket}/`],
    ['API', api],
  ];
}

function formatFacts(facts: Facts): string {
  return facts.map(([name, value]) => `${name.padEnd(11)}${value}`).join('\n');
}
