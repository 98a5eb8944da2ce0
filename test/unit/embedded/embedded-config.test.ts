import { expect, it } from 'vitest';
import { parseEmbeddedConfig } from '#infra/embedded/embedded-config.ts';

it('rejects an unknown key, with the name of the file', () => {
  expect(() => parseEmbeddedConfig({ deadMen: 7 }, 'config.yaml')).toThrow(/config\.yaml .*\n.*deadMen/s);
});

it('rejects a key of an earlier version, with its current name', () => {
  expect(() => parseEmbeddedConfig({ deadManSeconds: 7 }, 'config.yaml')).toThrow(/controlPlaneTimeoutSeconds/);
});

it('rejects a timeout in seconds, with its current name', () => {
  expect(() => parseEmbeddedConfig({ leaseSeconds: 7 }, 'config.yaml')).toThrow('timeouts: {leaseMs: …}');
  expect(() => parseEmbeddedConfig({ timeouts: { leaseSeconds: 7 } }, 'config.yaml')).toThrow('leaseSeconds');
});

it('rejects the separation of earlier versions, with what to use instead', () => {
  const access = { onlyOwnJobs: true, operators: [], callerKeys: { keys: [] }, audience: 'a' };
  const message = /config\.yaml .*\n.*access.*\nRun one embedded cloud for each group/s;
  expect(() => parseEmbeddedConfig({ access }, 'config.yaml')).toThrow(message);
});

it('rejects a quota whose metric it could not count, rather than never enforce it', () => {
  const quotaOf = (metric: string) => ({ quotas: [{ metric, region: 'us-central1', limit: 2 }] });
  expect(parseEmbeddedConfig(quotaOf('NVIDIA_T4_GPUS'), 'x.yaml').quotas).toHaveLength(1);
  expect(() => parseEmbeddedConfig(quotaOf('T4_GPUS'), 'x.yaml')).toThrow(/metric of a known quota/);
});
