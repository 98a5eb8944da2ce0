import { resolve } from 'node:path';
import type { Api, PollIntervals } from '#cli/client/api-client.ts';
import { type CloudCaller, type EmbeddedCloud, findCloud, nameOf } from '#cli/client/find-cloud.ts';
import { embeddedRemedies } from '#cli/client/request-json.ts';
import { selectCloud } from '#cli/core/selected-cloud.ts';

/** The cloud that commands operate on: this machine's embedded cloud or a deployment on Google Cloud. */
export type Target = {
  /** For people, such as `embedded cloud on /home/me/.dropforge`. */
  readonly name: string;
  readonly projectId: string;
  readonly uploadBucket: string;
  readonly jobsBucket: string;
  /** Bucket for a job's packages; readable by intake and VMs. */
  readonly stagingBucket: string;
  /** Endpoint of the Cloud Storage API; null for Google's own, with this machine's credentials. */
  readonly storage: string | null;
  /** The deployment's topics; null on an embedded cloud. */
  readonly topics: Topics | null;
  readonly api: Api;
  /** Address of the page, without a trailing slash; null for a deployment whose page needs `dropforge dashboard`. */
  readonly pageUrl: string | null;
};

/** The topics of a deployment that the CLI uses, as `projects/P/topics/T`; null if it does not use one. */
export type Topics = {
  readonly submit: string | null;
  /** Endpoint of the Pub/Sub API; undefined for Google's own, with this machine's credentials. */
  readonly endpoint: string | undefined;
};

/** An embedded cloud has no quota and usually a single client. */
export const EMBEDDED_POLL_INTERVALS: PollIntervals = { initialMs: 300, maxMs: 300, logPageMs: 0 };

/**
 * A log page is one read of Cloud Logging, which allows 60 reads per minute and project, shared by all clients (docs,
 * "Quotas and limits", entries.list). One follower uses 12 per minute, and 30 while it catches up.
 */
export const DEPLOYMENT_POLL_INTERVALS: PollIntervals = { initialMs: 1_000, maxMs: 5_000, logPageMs: 2_000 };

/** Returns the selected deployment, else the running embedded cloud. Throws Failure if there is none. */
export async function findTarget(caller: CloudCaller): Promise<Target> {
  if (caller.deployment === undefined) {
    return targetOf(await findCloud(caller));
  }
  // Loaded on demand: most commands run against the embedded cloud and do not need these modules.
  const { readDeployment } = await import('#cli/client/deployment.ts');
  const { describeDenial } = await import('#cli/client/describe-denial.ts');
  const { createAuthorizer } = await import('#cli/client/identity-token.ts');
  const path = resolve(caller.io.cwd, caller.deployment);
  const deployment = await readDeployment(path);
  const { api, pageUrl, storage = null, pubsub, submitTopic = null, ...buckets } = deployment;
  const name = `deployment in project ${buckets.projectId} (${path})`;
  selectCloud(name);
  return {
    name,
    ...buckets,
    topics: { submit: submitTopic, endpoint: pubsub },
    // The only bucket that the service accounts of both the functions and the VMs can read.
    stagingBucket: buckets.uploadBucket,
    storage,
    pageUrl: pageUrl?.replace(/\/+$/, '') ?? null,
    api: {
      url: api,
      authorize: createAuthorizer(api),
      pollIntervals: DEPLOYMENT_POLL_INTERVALS,
      remedies: {
        unreachable: 'check that the deployment exists (gcloud run services list)',
        denied: describeDenial,
      },
    },
  };
}

export function targetOf(cloud: EmbeddedCloud): Target {
  const { projectId, uploadBucket, jobsBucket, storage, api } = cloud;
  return {
    name: nameOf(cloud),
    ...{ projectId, uploadBucket, jobsBucket, storage, stagingBucket: jobsBucket },
    topics: null,
    pageUrl: api,
    api: {
      url: api,
      authorize: async () => ({}),
      remedies: embeddedRemedies(),
      pollIntervals: EMBEDDED_POLL_INTERVALS,
    },
  };
}
