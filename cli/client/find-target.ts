import { resolve } from 'node:path';
import { findCloud } from '#cli/client/find-cloud.ts';
import { DEPLOYMENT_PACE, EMBEDDED_PACE, type Pace } from '#cli/client/poll-intervals.ts';
import { type Remedies, remediesOfEmbedded } from '#cli/client/request-json.ts';
import type { Invocation } from '#cli/core/command.ts';
import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';

/** Where jobs are submitted and looked after: the embedded cloud of this machine, or a deployment on Google Cloud. */
export type Target = {
  readonly projectId: string;
  readonly uploadBucket: string;
  readonly jobsBucket: string;
  /** Where packages are put that a job needs; intake and VMs read there. */
  readonly stagingBucket: string;
  /** Null for Cloud Storage itself, with the credentials of this machine. */
  readonly storage: string | null;
  readonly api: Api;
};

export type Api = {
  readonly url: string;
  /** Headers that show who asks. */
  readonly authorize: () => Promise<Readonly<Record<string, string>>>;
  readonly remedies: Remedies;
  readonly pace: Pace;
};

type Caller = Pick<Invocation, 'dataDir' | 'deployment'> & { readonly io: { readonly cwd: string } };

/** The deployment that was named, else the embedded cloud that runs here. */
export async function findTarget(caller: Caller): Promise<Target> {
  if (caller.deployment === undefined) {
    return targetOf(await findCloud(caller));
  }
  // Most commands run against the embedded cloud, and need neither.
  const { readDeployment } = await import('#cli/client/deployment.ts');
  const { createIdentity } = await import('#cli/client/identity-token.ts');
  const { api, storage = null, ...places } = await readDeployment(resolve(caller.io.cwd, caller.deployment));
  return {
    ...places,
    // The accounts of functions and VMs may read there, and nowhere else by themselves.
    stagingBucket: places.uploadBucket,
    storage,
    api: {
      url: api,
      authorize: createIdentity(api),
      pace: DEPLOYMENT_PACE,
      remedies: {
        silent: 'see that the deployment is there (gcloud run services list)',
        refused: "ask whoever operates it to name you in Terraform's api_access.members",
      },
    },
  };
}

export function targetOf({ projectId, uploadBucket, jobsBucket, storage, api }: Endpoints): Target {
  return {
    ...{ projectId, uploadBucket, jobsBucket, storage, stagingBucket: jobsBucket },
    api: { url: api, authorize: async () => ({}), remedies: remediesOfEmbedded(), pace: EMBEDDED_PACE },
  };
}
