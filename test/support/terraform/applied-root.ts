import { afterAll, beforeAll, describe } from 'vitest';
import { leaveOut } from '../run/leave-out.ts';
import { apply, type Resource } from './deployed-state.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from './terraform.ts';

export const PROJECT = 'my-project';
export const VARIABLES = [
  `-var=project_id=${PROJECT}`,
  '-var=runtime_images={"2.11"={machine_images=["m-a","m-b"],image="i",python_version="3.10",gpus=["nvidia-l4"]},arm={image="a",architecture="ARM64"}}',
  '-var=jobs={runtime_version="2.11",zones=["us-central1-a","us-central1-b"]}',
  '-var=notifications={team={kind="slack",secret="slack-team"},hooks={kind="webhook",secret="hook-url",signing_secret="hook-key",states=["FAILED","INTERRUPTED"],trials=true}}',
  '-var=api_access={members=["group:cli@example.com"]}',
  '-var=page_access={members=["group:team@example.com"]}',
];

export type AppliedRoot = ReturnType<typeof lookUp> & { terraform(): TerraformCopy };

/** Applies the root module before the tests of a file, and passes them lookups in the resulting state. */
export function describeAppliedRoot(describeRoot: (root: AppliedRoot) => void): void {
  if (!hasTerraform()) {
    leaveOut('terraform', 'applied root');
    return;
  }
  let terraform: TerraformCopy;
  let resources: readonly Resource[] = [];
  beforeAll(async () => {
    terraform = await copyTerraform();
    resources = await apply(terraform, '.', VARIABLES);
  });
  afterAll(() => terraform.close());
  describe('the applied configuration', () => describeRoot({ terraform: () => terraform, ...lookUp(() => resources) }));
}

function lookUp(resources: () => readonly Resource[]) {
  const all = (type: string) => resources().filter((resource) => resource.type === type);
  const find = (type: string, key: string) => all(type).find((resource) => resource.key === key)?.values ?? {};
  const functionOf = (name: string) => find('google_cloudfunctions2_function', name);
  const configOf = (name: string) => Object(functionOf(name).service_config)[0] as Readonly<Record<string, unknown>>;
  const environmentOf = (name: string) => configOf(name).environment_variables as Readonly<Record<string, string>>;
  const topicOf = (topic: string) => find('google_pubsub_topic', topic);
  const emailOf = (account: string) => find('google_service_account', account).email;
  const memberOf = (account: string) => find('google_service_account', account).member;

  return { all, find, functionOf, configOf, environmentOf, topicOf, emailOf, memberOf };
}
