import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';

type Facts = readonly (readonly [string, string])[];

/** The part of a cloud's description that embedded clouds and deployments share. */
type Cloud = {
  /** For people, such as `embedded cloud on /home/me/.dropforge`. */
  readonly name: string;
  readonly projectId: string;
  readonly uploadBucket: string;
  readonly jobsBucket: string;
  readonly api: { readonly url: string };
};

type Deployment = Cloud & {
  readonly pageUrl: string | null;
  readonly topics: { readonly submit: string | null } | null;
};

export function describeEndpoints(name: string, cloud: Endpoints): string {
  return formatFacts([
    ['cloud', name],
    ['dashboard', `${cloud.api}/`],
    ...factsOf({ ...cloud, name, api: { url: cloud.api } }),
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
    ...factsOf(target),
    ...(topics?.submit ? [['submit to', topics.submit] as const] : []),
    ['running', running],
  ]);
}

function factsOf(cloud: Cloud): Facts {
  return [
    ['project', cloud.projectId],
    ['upload to', `gs://${cloud.uploadBucket}/`],
    ['output in', `gs://${cloud.jobsBucket}/`],
    ['API', cloud.api.url],
  ];
}

function formatFacts(facts: Facts): string {
  return facts.map(([name, value]) => `${name.padEnd(11)}${value}`).join('\n');
}
