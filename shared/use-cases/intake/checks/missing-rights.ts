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

const VARIABLES = { accounts: 'job_accounts', networks: 'job_networks', keys: 'job_keys' } as const;

/** The line of terraform.tfvars that adds an account, network or key to those that jobs may have. */
export const missingTerraformLine: DescribeMissing = (list, { name, listed, region, networkAttachment }) => {
  const project = name.split('/')[1] ?? 'PROJECT';
  const part =
    networkAttachment === undefined
      ? `subnetworks = { ${region} = "projects/${project}/regions/${region}/subnetworks/SUBNETWORK" }`
      : `network_attachments = [${JSON.stringify(networkAttachment)}]`;
  const names = listed.length > REPEATED_COUNT_MAX ? ['…'] : listed.map((one) => JSON.stringify(one));
  const value =
    list === 'networks'
      ? // Other networks have more than their name: the line does not repeat them.
        `{ ${listed.length === 0 ? '' : '…, '}${JSON.stringify(name)} = { ${part} } }`
      : `[${[...names, JSON.stringify(name)].join(', ')}]`;
  return `Add the line ${VARIABLES[list]} = ${value} to terraform.tfvars and run terraform apply`;
};
