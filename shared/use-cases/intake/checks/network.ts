import type { JobSpec } from '#shared/domain/job-spec.ts';
import { locationOf } from '#shared/job-file/parser/findings.ts';
import type { JobRights } from '#shared/protocol/job-rights.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { locationOfResource, shortNameOf } from '#shared/protocol/resource-names.ts';
import type { Check, CheckedJob } from '#shared/use-cases/intake/checks/check.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { describeUnlisted, listingOf } from '#shared/use-cases/intake/checks/listed-names.ts';

/** The parts of a job's network as VMs need them. */
type Network = Pick<JobSpec, 'network' | 'subnetwork' | 'networkAttachment'>;

/** Whether the deployment lets the job use the network and network attachment that it names, in its region. */
export const checkNetwork: Check = (job, { intake }) => ({
  problems: [...checkSubnetwork(job, intake), ...checkAttachment(job, intake)],
});

/**
 * A listed network with its subnetwork in the region of the job, and the full name of a listed network attachment. What
 * is not listed stays as it is.
 */
export function resolveNetwork(spec: JobSpec, rights: JobRights): Network {
  const { network, subnetwork, networkAttachment } = spec;
  const found = findSubnetwork(spec, rights) ?? { network, subnetwork };
  return { ...found, networkAttachment: findAttachment(spec, rights) ?? networkAttachment };
}

function findSubnetwork({ region, network, subnetwork }: JobSpec, { networks }: JobRights) {
  const found = Object.entries(networks).find(
    ([name, { subnetworks }]) =>
      (network === null || name === network) && (subnetwork === null || subnetworks[region] === subnetwork),
  );
  const resolved = found?.[1].subnetworks[region];
  const isNamed = network !== null || subnetwork !== null;
  return isNamed && found !== undefined && resolved !== undefined
    ? { network: found[0], subnetwork: resolved }
    : undefined;
}

function findAttachment({ region, networkAttachment }: JobSpec, rights: JobRights): string | undefined {
  return attachmentsIn(rights).find(
    (name) =>
      name === networkAttachment || (shortNameOf(name) === networkAttachment && locationOfResource(name) === region),
  );
}

function attachmentsIn({ networks }: JobRights): readonly string[] {
  return Object.values(networks).flatMap(({ networkAttachments }) => networkAttachments);
}

function checkSubnetwork({ draft, spec }: CheckedJob, { rights, describeMissingRight }: IntakeSettings) {
  const { region, network, subnetwork } = spec;
  const named = network ?? subnetwork;
  if (named === null || findSubnetwork(spec, rights) !== undefined) {
    return [];
  }
  const field = draft.network ?? draft.subnetwork;
  const listed = Object.keys(rights.networks);
  const name = network ?? `projects/${subnetwork?.split('/')[1]}/global/networks/NETWORK`;
  const line = describeMissingRight('networks', { name, listed, region });
  if (network !== null && listed.includes(network)) {
    const subnetworks = rights.networks[network]?.subnetworks ?? {};
    const regions = Object.keys(subnetworks);
    const message =
      subnetwork !== null && regions.includes(region)
        ? `The job uses the subnetwork ${subnetwork}, but jobs in ${network} use ${subnetworks[region]} in ${region}.`
        : `The job runs in ${region}, where the network ${network} has no subnetwork for jobs (only in ${listingOf(regions)}).`;
    const remedy = `Choose one of its regions, or ${lowerFirst(line)}.`;
    return [{ code: 'NETWORK_NOT_IN_REGION', message, remedy, ...(field && locationOf(field)) }];
  }
  const subnetworks = Object.values(rights.networks).flatMap((one) => one.subnetworks[region] ?? []);
  return [
    describeUnlisted({
      code: 'NETWORK_NOT_LISTED',
      name: named,
      what: `${named} is not one of the networks that jobs of this deployment may use`,
      listed,
      candidates: network === null ? subnetworks : listed,
      remedy: `${line}, or remove it for the deployment's own network`,
      field,
    }),
  ];
}

/** A network attachment must be in the region of the job (VPC docs, "Network attachments"). */
function checkAttachment({ draft, spec }: CheckedJob, intake: IntakeSettings): readonly Problem[] {
  const { region, networkAttachment } = spec;
  const field = draft.networkAttachment;
  if (networkAttachment === null) {
    return [];
  }
  const found = findAttachment(spec, intake.rights);
  if (found === undefined) {
    return [describeUnlistedAttachment(networkAttachment, { region, field, intake })];
  }
  const location = locationOfResource(found);
  const message = `The job runs in ${region}, and the network attachment ${found} is in ${location}.`;
  const remedy = `Choose the region ${location}, or a network attachment in ${region}.`;
  const problem = { code: 'NETWORK_ATTACHMENT_NOT_IN_REGION', message, remedy, ...(field && locationOf(field)) };
  return location === region ? [] : [problem];
}

type Attached = {
  readonly region: string;
  readonly field: CheckedJob['draft']['networkAttachment'];
  readonly intake: IntakeSettings;
};

function describeUnlistedAttachment(given: string, { region, field, intake }: Attached): Problem {
  const networkAttachment = given.includes('/')
    ? given
    : `projects/PROJECT/regions/${region}/networkAttachments/${given}`;
  const line = intake.describeMissingRight('networks', {
    name: `projects/${networkAttachment.split('/')[1]}/global/networks/NETWORK`,
    listed: Object.keys(intake.rights.networks),
    networkAttachment,
  });
  return describeUnlisted({
    code: 'NETWORK_ATTACHMENT_NOT_LISTED',
    name: given,
    what: `${given} is not one of the network attachments that jobs of this deployment may use in ${region}`,
    listed: attachmentsIn(intake.rights),
    remedy: `${line}, or remove it`,
    field,
  });
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
