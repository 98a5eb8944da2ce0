import { locationOf } from '#shared/job-file/parser/findings.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Check, CheckedJob } from '#shared/use-cases/intake/checks/check.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { describeUnlisted } from '#shared/use-cases/intake/checks/listed-names.ts';

/** Whether the deployment lets the job have the service account that it names, and that account what the job uses. */
export const checkAccount: Check = (job, { intake }) => ({
  problems: [...checkIsListed(job, intake), ...checkSecrets(job, intake), ...checkBucket(job, intake)],
});

/** The bucket in which the outputs of jobs with this account are by default. */
export function jobsBucketOf(settings: Pick<IntakeSettings, 'rights' | 'jobsBucket'>, account?: string | null): string {
  return findAccount(settings, account)?.bucket ?? settings.jobsBucket;
}

function findAccount({ rights: { accounts } }: Pick<IntakeSettings, 'rights'>, account: string | null | undefined) {
  return account && Object.hasOwn(accounts, account) ? accounts[account] : undefined;
}

function checkIsListed({ draft, spec }: CheckedJob, intake: IntakeSettings): readonly Problem[] {
  const { serviceAccount: name } = spec;
  const listed = Object.keys(intake.rights.accounts);
  if (name === null || listed.includes(name)) {
    return [];
  }
  const what = `The job runs as ${name}, which is not one of the service accounts that jobs of this deployment may have`;
  const line = intake.describeMissingRight('accounts', { name, listed });
  const remedy = `${line}, or remove it for the deployment's own account`;
  return [
    describeUnlisted({ code: 'SERVICE_ACCOUNT_NOT_LISTED', name, what, listed, remedy, field: draft.serviceAccount }),
  ];
}

/** Secrets of the deployment are granted to each account separately; those of other projects, where they are. */
function checkSecrets({ draft, spec: { serviceAccount, secrets } }: CheckedJob, intake: IntakeSettings) {
  const granted = findAccount(intake, serviceAccount)?.secrets ?? null;
  const others = Object.entries(secrets).filter(
    ([_, { project, secret }]) => granted !== null && project === null && !granted.includes(secret),
  );
  return others.map(([variable, { secret }]): Problem => {
    const field = draft.secrets.find(({ value }) => value.key === variable);
    return {
      code: 'SECRET_NOT_GRANTED',
      message: `The job runs as ${serviceAccount}, which may not read the secret ${secret} of this deployment.`,
      remedy: `Grant it: job_account_secrets = { ${JSON.stringify(serviceAccount)} = [${JSON.stringify(secret)}] } and run terraform apply.`,
      ...(field && locationOf(field)),
    };
  });
}

/**
 * Each account writes to its own bucket; a job directory in that of another one would fail after the VM has started.
 */
function checkBucket({ draft, spec: { serviceAccount, jobDir } }: CheckedJob, intake: IntakeSettings) {
  const { bucket } = parseGsUri(jobDir);
  const own = jobsBucketOf(intake, serviceAccount);
  const isKnown = serviceAccount === null || findAccount(intake, serviceAccount) !== undefined;
  if (!isKnown || bucket === own || !bucketsOfJobs(intake).includes(bucket)) {
    return [];
  }
  const account = serviceAccount ?? "the deployment's own account";
  return [
    {
      code: 'JOB_DIR_OF_OTHER_ACCOUNT',
      message: `The job runs as ${account}, which has no access to the bucket ${bucket} of the job directory.`,
      remedy: `Leave the job directory out, or use one in gs://${own}.`,
      ...(draft.jobDir && locationOf(draft.jobDir)),
    },
  ];
}

/** The buckets of job directories, of which each account may access its own. */
export function bucketsOfJobs({ rights, jobsBucket }: IntakeSettings): readonly string[] {
  return [jobsBucket, ...Object.values(rights.accounts).map(({ bucket }) => bucket)];
}
