/** The lists of a deployment that limit what its jobs may name. */
export type RightsList = 'accounts' | 'networks' | 'keys';

/**
 * The line of the deployment's configuration that adds an entry to a list, with the entries that it has already. A
 * network's entry is the job's subnetwork or network attachment.
 */
export type DescribeMissing = (list: RightsList, missing: MissingRight) => string;

export type MissingRight = {
  readonly name: string;
  /** Names that the list has. */
  readonly listed: readonly string[];
  /** The region or attachment that the entry of a network lacks. */
  readonly region?: string | undefined;
  readonly networkAttachment?: string | undefined;
};

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
