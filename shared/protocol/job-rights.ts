import * as z from 'zod';
import { isBucketName } from '#shared/protocol/gs-uri.ts';
import {
  KMS_KEY_PATTERN,
  NETWORK_ATTACHMENT_PATTERN,
  NETWORK_PATTERN,
  SUBNETWORK_PATTERN,
} from '#shared/protocol/resource-names.ts';

/** Lists of a deployment are written by its operator; a limit keeps them within an environment variable (32 KiB). */
const ENTRIES_COUNT_MAX = 100;

const REGION_PATTERN = /^[a-z]+-[a-z]+\d+$/;

/**
 * User-managed accounts only: Google's agents cannot be attached to VMs, and default accounts usually have the role
 * Editor (IAM, "Types of service accounts").
 */
const ACCOUNT_PATTERN = /^(?!service-\d)[a-z][a-z0-9-]{4,28}[a-z0-9]@[a-z0-9.-]{6,90}\.iam\.gserviceaccount\.com$/;

/** The e-mail address of a service account that jobs may name. */
export const jobAccountSchema = z
  .string()
  .regex(ACCOUNT_PATTERN, 'not the address of a user-managed service account: NAME@PROJECT.iam.gserviceaccount.com')
  .refine(
    (email) => !email.startsWith('dropforge-'),
    'an account of the deployment itself, whose rights jobs must not have',
  );

export const jobNetworksSchema = z.record(
  z.string().regex(NETWORK_PATTERN, 'not the full name of a network'),
  z.strictObject({
    /** By region. */
    subnetworks: z
      .record(
        z.string().regex(REGION_PATTERN),
        z.string().regex(SUBNETWORK_PATTERN, 'not the full name of a subnetwork'),
      )
      .default({}),
    networkAttachments: z
      .array(z.string().regex(NETWORK_ATTACHMENT_PATTERN, 'not the full name of a network attachment'))
      .max(ENTRIES_COUNT_MAX)
      .default([]),
  }),
);

export const jobKeysSchema = z
  .array(z.string().regex(KMS_KEY_PATTERN, 'not the full name of a key without a version'))
  .max(ENTRIES_COUNT_MAX);

/**
 * The resources that jobs of a deployment may name: service accounts, each with its own bucket and those of the
 * deployment's secrets that it reads; networks; and encryption keys. What is not listed is refused.
 */
export const jobRightsSchema = z.strictObject({
  accounts: z
    .record(
      jobAccountSchema,
      z.strictObject({
        /** For its jobs' outputs and installed packages: no other account of jobs has access. */
        bucket: z.string().refine(isBucketName),
        /** Null for all. */
        secrets: z.array(z.string()).nullable().default([]),
      }),
    )
    .default({}),
  networks: jobNetworksSchema.default({}),
  keys: jobKeysSchema.default([]),
});

export type JobRights = z.infer<typeof jobRightsSchema>;

export const NO_RIGHTS: JobRights = { accounts: {}, networks: {}, keys: [] };
