import { expect, it } from 'vitest';
import { familyOf, listFamiliesThatAttachGpus, readCatalog } from '#shared/catalog/catalog.ts';
import { describeMachineRejection } from '#shared/job-file/validation/describe-machine-rejection.ts';

const fields = { machineType: 'machine', count: 'count', writeGpus: () => 'gpu', gpus: ['gpu'] };

it('names every family of the catalog to which GPUs can be attached, and a machine type of one of them', () => {
  const rejection = { reason: 'MACHINE_TYPE_TAKES_NO_ACCELERATOR' } as const;
  const { remedy } = describeMachineRejection(rejection, { machineType: 'e2-standard-4', fields });
  const families = Object.entries(readCatalog().families).filter(([, { attachesGpus }]) => attachesGpus);
  const names = families.map(([name]) => name.toUpperCase());
  expect(names).toContain('N1');
  expect(names.filter((name) => !remedy.includes(name))).toEqual([]);
  expect(remedy).toMatch(/^GPUs can be attached to N1.* machine types only: choose one such as n1-standard-8\.$/);
  expect(familyOf('n1-standard-8').attachesGpus).toBe(true);
});

it('lists every family to which GPUs can be attached', () => {
  const { families } = readCatalog();
  const { n1, e2 } = families;
  expect(n1 && e2 && listFamiliesThatAttachGpus({ families: { e2, n1, n9: n1 } })).toEqual(['n1', 'n9']);
});
