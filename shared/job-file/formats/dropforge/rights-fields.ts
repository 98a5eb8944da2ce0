import type { JobField } from '#shared/job-file/fields/field.ts';
import { TEXT } from '#shared/job-file/fields/kind.ts';
import { inJob } from '#shared/job-file/fields/targets.ts';

/** Fields for rights of the job's own, each within a list of the deployment (docs/rights.md). */
export const RIGHTS_FIELDS = {
  serviceAccount: {
    ...inJob('serviceAccount', TEXT),
    description:
      'The service account of the machines, one of `job_accounts`: the program has its rights instead of those of the deployment’s account.',
    omitted: "the deployment's",
    examples: ['trainer@my-project.iam.gserviceaccount.com'],
    goesTo: { spec: 'serviceAccount', vm: 'serviceAccount' },
  },
  network: {
    ...inJob('network', TEXT),
    description: 'The VPC network of the machines, one of `job_networks`.',
    omitted: "the deployment's",
    examples: ['projects/my-project/global/networks/training'],
    // Intake finds the subnetwork, which VMs need instead.
    goesTo: { spec: 'network', vm: null },
  },
  subnetwork: {
    ...inJob('subnetwork', TEXT),
    description: 'The subnetwork of the machines, one that `job_networks` has for the region of the job.',
    omitted: "the network's in the region",
    examples: ['projects/my-project/regions/us-central1/subnetworks/training'],
    goesTo: { spec: 'subnetwork', vm: 'subnetwork' },
  },
  networkAttachment: {
    ...inJob('networkAttachment', TEXT),
    description:
      'The network attachment to which each machine has a second interface (Private Service Connect), one of `job_networks`: its full name, or its name in the region of the job.',
    omitted: 'one interface',
    examples: ['projects/my-project/regions/us-central1/networkAttachments/data'],
    synonyms: ['pscInterfaceConfig'],
    goesTo: { spec: 'networkAttachment', vm: 'networkAttachment' },
  },
  kmsKey: {
    ...inJob('kmsKeyName', TEXT),
    description: 'The Cloud KMS key of the disks, one of `job_keys`, in the region of the job or global.',
    omitted: "the deployment's, or Google's own",
    examples: ['projects/my-project/locations/europe-west4/keyRings/r/cryptoKeys/k'],
    synonyms: ['encryptionConfig', 'encryptionSpec', 'kmsKeyName'],
    goesTo: { spec: 'kmsKeyName', vm: 'kmsKeyName' },
  },
} as const satisfies Readonly<Record<string, JobField>>;
