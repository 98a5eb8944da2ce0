import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaveOut } from '../support/run/leave-out.ts';
import { apply, type Resource } from '../support/terraform/deployed-state.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const PAGE = new URL('../../docs/access.md', import.meta.url);

/** The configuration of the page, whose source is beside it. */
function pageExample(): string {
  const [, example = ''] = /```hcl\n([\s\S]*?)```/.exec(readFileSync(PAGE, 'utf8')) ?? [];
  return example.replace('"./terraform"', '"../.."');
}

let terraform: TerraformCopy;
let resources: readonly Resource[];

const ofGroup = (group: string) =>
  resources.filter(({ address }) => address.startsWith(`module.dropforge["${group}"].`));

const mentions = (values: Resource['values'], group: string) =>
  [`my-${group}-project`, `group:${group}@`].some((name) => JSON.stringify(values).includes(name));

describe('the deployments of docs/access.md', () => {
  if (!hasTerraform()) {
    leaveOut('terraform', 'two deployments');
    return;
  }
  beforeAll(async () => {
    terraform = await copyTerraform();
    terraform.add('examples/groups', pageExample());
    resources = await apply(terraform, 'examples/groups', []);
  });
  afterAll(() => terraform.close());

  it.each([
    ['vision', 'speech'],
    ['speech', 'vision'],
  ])('have nothing in common: that of %s names no project, account or member of %s', (group, other) => {
    const own = ofGroup(group);
    expect(own.length).toBeGreaterThan(150);
    expect(own.filter(({ values }) => mentions(values, other)).map(({ address }) => address)).toEqual([]);
    const elsewhere = own.filter(
      ({ values: { project = `my-${group}-project` } }) => project !== `my-${group}-project`,
    );
    expect(elsewhere.map(({ address }) => address)).toEqual([]);
  });

  it('have a file for the CLI each, with buckets and a topic of their own project', async () => {
    const outputs = JSON.parse(await terraform.must('examples/groups', ['output', '-json', 'deployments']));
    for (const group of ['vision', 'speech']) {
      expect(outputs[group]).toMatchObject({
        projectId: `my-${group}-project`,
        uploadBucket: `my-${group}-project-dropforge-uploads`,
        jobsBucket: `my-${group}-project-dropforge-jobs`,
      });
    }
  });
});
