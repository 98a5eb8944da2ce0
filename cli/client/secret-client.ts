import * as z from 'zod';
import { findCloud } from '#cli/client/find-cloud.ts';
import { requestJson } from '#cli/client/request-json.ts';
import type { Invocation } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';

const listSchema = z.object({ secrets: z.array(z.object({ name: z.string(), createTime: z.string() })).default([]) });

export type ListedSecret = { readonly name: string; readonly createTime: string };

/** Client of the embedded cloud's Secret Manager. */
export type SecretClient = {
  /** Creates a secret with its first version. */
  create(name: string, value: Uint8Array): Promise<void>;
  list(): Promise<readonly ListedSecret[]>;
  delete(name: string): Promise<void>;
};

/** Throws Failure for a deployment, whose secrets are managed with gcloud. */
export async function openSecretClient(invocation: Invocation): Promise<SecretClient> {
  if (invocation.deployment !== undefined) {
    throw new Failure(
      'The secrets of a deployment are in Secret Manager: list them in Terraform’s variable secrets and manage them with `gcloud secrets`.',
    );
  }
  const { secretManager, projectId } = await findCloud(invocation);
  const { interrupted: signal } = invocation.io;
  const root = `${secretManager}/v1/projects/${projectId}/secrets`;
  const urlOf = (name: string) => `${root}/${encodeURIComponent(name)}`;
  return {
    async create(name, value) {
      await requestJson(`${root}?secretId=${encodeURIComponent(name)}`, z.unknown(), { method: 'POST', signal });
      const body = JSON.stringify({ payload: { data: Buffer.from(value).toString('base64') } });
      await requestJson(`${urlOf(name)}:addVersion`, z.unknown(), { method: 'POST', body, signal });
    },
    async list() {
      const { secrets } = await requestJson(root, listSchema, { signal });
      return secrets.map((secret) => ({ ...secret, name: secret.name.replace(/^.*\//, '') }));
    },
    async delete(name) {
      await requestJson(urlOf(name), z.unknown(), { method: 'DELETE', signal });
    },
  };
}
