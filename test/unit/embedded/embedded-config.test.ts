import { expect, it } from 'vitest';
import { parseEmbeddedConfig } from '#infra/embedded/embedded-config.ts';

it('accepts a key of version 0.1 as its current name', () => {
  expect(parseEmbeddedConfig({ deadManSeconds: 7 }, 'config.yaml').controlPlaneTimeoutSeconds).toBe(7);
});

it('rejects an unknown key, with the name of the file', () => {
  expect(() => parseEmbeddedConfig({ deadMen: 7 }, 'config.yaml')).toThrow(/config\.yaml .*\n.*deadMen/s);
});
