import type { DescribeMissing, MissingRight, RightsList } from '#shared/use-cases/intake/check-rights.ts';

/** A line repeats the entries that the list has, up to as many as this. */
const REPEATED_COUNT_MAX = 5;

/** The line of terraform.tfvars that adds an account, network or key to those that jobs may have. */
export const missingTerraformLine: DescribeMissing = (list, missing) =>
  `Add the line ${assignmentOf(list, missing)} to terraform.tfvars and run terraform apply`;

function assignmentOf(list: RightsList, missing: MissingRight): string {
  switch (list) {
    case 'accounts':
      return `job_accounts = ${listOf(missing)}`;
    case 'keys':
      return `job_keys = ${listOf(missing)}`;
    case 'networks':
      return `job_networks = { ${othersOf(missing)}${JSON.stringify(missing.name)} = { ${partOf(missing)} } }`;
  }
}

function listOf({ name, listed }: MissingRight): string {
  const names = listed.length > REPEATED_COUNT_MAX ? ['…'] : listed.map((one) => JSON.stringify(one));
  return `[${[...names, JSON.stringify(name)].join(', ')}]`;
}

/** Other networks have more than their name: the line does not repeat them. */
function othersOf({ listed }: MissingRight): string {
  return listed.length === 0 ? '' : '…, ';
}

function partOf({ name, region, networkAttachment }: MissingRight): string {
  const project = name.split('/')[1] ?? 'PROJECT';
  return networkAttachment === undefined
    ? `subnetworks = { ${region} = "projects/${project}/regions/${region}/subnetworks/SUBNETWORK" }`
    : `network_attachments = [${JSON.stringify(networkAttachment)}]`;
}
