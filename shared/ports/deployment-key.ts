import * as z from 'zod';

/**
 * A random key of the deployment, from which the secrets of attempts are derived (ADR 57). Neither it nor they are in a
 * log line, a record, a message, the metadata of a VM or an answer of the API.
 */
export type DeploymentKey = {
  /** The same in every process: the first read creates it. Throws if the stored key is damaged, and could be guessed. */
  read(): Promise<string>;
};

/** The stored form: 32 bytes in base64. */
export const deploymentKeySchema = z
  .string()
  .regex(
    /^[\w+/]{43}=$/,
    'The key of the deployment is damaged. Delete it: the next heartbeat of a cluster creates one.',
  );
