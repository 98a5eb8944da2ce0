import { expect, it } from 'vitest';
import { parseEmbeddedConfig } from '#infra/embedded/embedded-config.ts';

it('reads a key of version 0.1 under its name since', () => {
  expect(parseEmbeddedConfig({ deadManSeconds: 7 }, 'config.yaml').controlPlaneTimeoutSeconds).toBe(7);
});

it('rejects a key that no version had, with the name of the file', () => {
  expect(() => parseEmbeddedConfig({ deadMen: 7 }, 'config.yaml')).toThrow(/config\.yaml .*\n.*deadMen/s);
});
