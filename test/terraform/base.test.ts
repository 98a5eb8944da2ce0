import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaveOut } from '../support/run/leave-out.ts';
import { BASE_FILE, BASE_VARIABLES, type BaseResources, listLost, toState } from '../support/terraform/base-state.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const BASE = JSON.parse(readFileSync(BASE_FILE, 'utf8')) as BaseResources;

let terraform: TerraformCopy;

if (hasTerraform()) {
  beforeAll(async () => {
    terraform = await copyTerraform();
    terraform.write('terraform.tfstate', toState(BASE));
  });
  afterAll(() => terraform.close());
  describe('a deployment of the base version, v0.1.0', describeUpgrade);
} else {
  leaveOut('terraform', 'an apply over the base version');
}

function describeUpgrade() {
  it('loses nothing by an apply: each resource keeps its address, or is moved, and none is replaced', async () => {
    await terraform.init('.');
    await terraform.must('.', ['plan', '-input=false', '-out=plan.bin', ...BASE_VARIABLES]);
    expect(Object.keys(BASE).length).toBeGreaterThan(50);
    expect(listLost(BASE, await terraform.must('.', ['show', '-json', 'plan.bin']))).toEqual([]);
  });
}
