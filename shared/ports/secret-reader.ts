/** Reads secrets of the deployment's project. */
export type SecretReader = {
  /**
   * The latest version of a secret as text; undefined if it does not exist, has no enabled version, or may not be read.
   * Throws if Secret Manager cannot be reached.
   */
  read(name: string): Promise<string | undefined>;
};
