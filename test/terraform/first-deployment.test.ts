import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findRegion, writeConfiguration } from '#infra/tools/first-deployment/configuration.ts';
import { leaveOut } from '../support/run/leave-out.ts';
import { plan, type Resource } from '../support/terraform/deployed-state.ts';
import { copyTerraform, hasTerraform, type TerraformCopy } from '../support/terraform/terraform.ts';

const PROJECT = 'first-project';

if (hasTerraform()) {
  describe('the configuration of npm run first-deployment', () => {
    let terraform: TerraformCopy;
    let folder: string;
    let planned: readonly Resource[];

    beforeAll(async () => {
      terraform = await copyTerraform();
      folder = join(terraform.directory, '.first-deployment', PROJECT);
      await mkdir(folder, { recursive: true });
      await writeConfiguration(folder, terraform.directory, { projectId: PROJECT, region: 'europe-west4', image: 'i' });
      planned = await plan(terraform, join('..', '.first-deployment', PROJECT), []);
    });
    afterAll(() => terraform.close());

    const valuesOf = (type: string) => planned.filter((one) => one.type === type).map(({ values }) => values);

    it('plans a deployment that can be destroyed at once, with roles whose ids no earlier one has used', () => {
      expect(new Set(valuesOf('google_storage_bucket').map((bucket) => bucket.force_destroy))).toEqual(new Set([true]));
      expect(valuesOf('google_firestore_database')).toMatchObject([{ deletion_policy: 'DELETE' }]);
      const roles = valuesOf('google_project_iam_custom_role').map(({ role_id }) => String(role_id));
      expect(roles.filter((id) => !/_[0-9a-f]{8}$/.test(id))).toEqual([]);
    });

    it('has the channel that the row of notifications tests, and its region for the next run', async () => {
      expect(
        valuesOf('google_secret_manager_secret')
          .map(({ secret_id }) => secret_id)
          .toSorted(),
      ).toEqual(['hook-key', 'hook-url']);
      expect(await findRegion(folder)).toBe('europe-west4');
    });
  });
} else {
  leaveOut('terraform', 'the configuration of npm run first-deployment');
}
