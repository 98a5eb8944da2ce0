import { rm } from 'node:fs/promises';
import { configurationIn } from '#infra/tools/first-deployment/configuration.ts';
import type { Row } from '#infra/tools/first-deployment/row.ts';
import { LOCK, type Tools, Unexpected } from '#infra/tools/first-deployment/tools.ts';

/** A cancelled program has a minute to end, and ten to save its outputs. */
const VMS_END_SECONDS_MAX = 900;

export const DESTROY: Row = {
  id: 'destroy',
  expected: 'no bucket, network or VM of a deployment is listed',
  needs: null,
  secondsMax: 7_200,
  run: destroy,
};

/** The buckets, the network and the VMs of the project's deployment: it has one at most. */
export async function listDeployed({ must, gcloud, projectId, listVms }: Tools): Promise<readonly string[]> {
  const named = `--filter=name~^${projectId}-dropforge-`;
  const buckets = await must(gcloud('storage', 'buckets', 'list', named, '--format=value(name)'));
  const networks = await must(gcloud('compute', 'networks', 'list', '--filter=name=dropforge', '--format=value(name)'));
  return [...[buckets, networks].flatMap((text) => text.split('\n').filter(Boolean)), ...(await listVms())];
}

/**
 * Destroys what was deployed from the folder. Jobs are cancelled and VMs deleted first: a VM blocks the deletion of its
 * subnet, and without the control plane only its own limits would end it.
 */
async function destroy(tools: Tools): Promise<string> {
  const { must, run, dropforge, terraform, gcloud, listVms, until, folder } = tools;
  const listed = await run(dropforge('jobs', 'list', '--limit=1000', '--format=value(jobId)'));
  const jobIds = listed.status === 0 ? listed.stdout.split('\n').filter(Boolean) : [];
  await run(dropforge('jobs', 'cancel', ...jobIds));
  const endsAt = Date.now() + (jobIds.length === 0 ? 0 : VMS_END_SECONDS_MAX * 1_000);
  const left = await until(async () => {
    const vms = await listVms();
    return (vms.length === 0 || Date.now() > endsAt) && vms;
  });
  for (const [name = '', zone] of left.map((line) => line.split('\t'))) {
    await must(gcloud('compute', 'instances', 'delete', name, `--zone=${zone}`));
  }
  await must(terraform('init', '-input=false'));
  const command = terraform('destroy', '-auto-approve', '-input=false', LOCK);
  if ((await run(command)).status !== 0) {
    await must(command);
  }
  const remaining = await listDeployed(tools);
  if (remaining.length > 0) {
    throw new Unexpected(`Terraform has destroyed all that it knows of, but there are: ${remaining.join(', ')}`);
  }
  await rm(configurationIn(folder));
  return DESTROY.expected;
}
