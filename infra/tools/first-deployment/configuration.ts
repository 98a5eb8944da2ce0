import { randomBytes } from 'node:crypto';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** The notification channel and its secrets, which have their values after the apply. */
export const CHANNEL = { name: 'hook', secret: 'hook-url', signing_secret: 'hook-key' } as const;

type Deployed = { readonly projectId: string; readonly region: string; readonly image: string };

/** In a project's folder, with the state beside it. It is deleted after everything in it was destroyed. */
export function configurationIn(folder: string): string {
  return join(folder, 'main.tf.json');
}

/** The region of the deployment that an earlier run has begun in the folder; undefined if there is none. */
export async function findRegion(folder: string): Promise<string | undefined> {
  const text = await readFile(configurationIn(folder), 'utf8').catch(() => '');
  return /"region": "(.*)"/.exec(text)?.[1];
}

/** Writes a Terraform configuration of its own, with a state that nothing else changes. */
export async function writeConfiguration(folder: string, root: string, deployed: Deployed): Promise<void> {
  const { projectId, region, image } = deployed;
  const { name, ...secrets } = CHANNEL;
  await copyFile(join(root, 'terraform', '.terraform.lock.hcl'), join(folder, '.terraform.lock.hcl'));
  const dropforge = {
    // Terraform copies a module that an absolute path names, and loses what is beside it.
    source: relative(folder, join(root, 'terraform')),
    project_id: projectId,
    region,
    functions_dir: join(root, 'dist', 'functions'),
    deletion_protection: false,
    // Google reserves the ids of deleted roles for a month, so each deployment has its own.
    custom_role_suffix: `_${randomBytes(4).toString('hex')}`,
    runtime_images: { first: { image } },
    notifications: { [name]: { kind: 'webhook', ...secrets } },
  };
  const configuration = {
    provider: { google: { project: projectId, region } },
    module: { dropforge },
    output: { deployment: { value: `\${module.dropforge.deployment}` } },
  };
  await writeFile(configurationIn(folder), JSON.stringify(configuration, null, 2));
}
