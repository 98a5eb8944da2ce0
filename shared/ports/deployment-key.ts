/** The length of the key: as long as the digest of the HMAC that it is for. */
export const DEPLOYMENT_KEY_BYTES = 32;

/**
 * A random key of the deployment, from which the secrets of attempts are derived (ADR 57). Neither it nor they are in a
 * log line, a record, a message, the metadata of a VM or an answer of the API.
 */
export type DeploymentKey = {
  /**
   * The same bytes in every process of the deployment: the first read creates them. Throws if the stored value is
   * damaged.
   */
  read(): Promise<Uint8Array>;
};

/** Reads the stored form, base64. Throws, without the value, if it is not a whole key: a shorter one could be guessed. */
export function decodeDeploymentKey(stored: unknown): Uint8Array {
  const key = Buffer.from(typeof stored === 'string' ? stored : '', 'base64');
  if (key.byteLength !== DEPLOYMENT_KEY_BYTES) {
    throw new Error(
      `The stored key of the deployment does not have ${DEPLOYMENT_KEY_BYTES} bytes. Delete it: the next heartbeat of a cluster creates another one.`,
    );
  }
  return key;
}
