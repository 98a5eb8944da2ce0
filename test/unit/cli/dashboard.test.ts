import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCli, startTestCloud, type TestCloud } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.close());

it('prints the address of the page of an embedded cloud', async () => {
  const result = await runCli(['dashboard', '--data-dir', cloud.dataDir]);
  expect(result).toMatchObject({ code: 0, stdout: `${cloud.endpoints.api}/\n` });
});

it('prints it as JSON, and fails without a cloud', async () => {
  const printed = await runCli(['dashboard', '--format=json', '--data-dir', cloud.dataDir]);
  const absent = await runCli(['dashboard', '--data-dir', `${cloud.dataDir}/absent`]);
  const wrong = await runCli(['dashboard', 'extra', '--data-dir', cloud.dataDir]);
  expect(printed.json()).toEqual([{ address: `${cloud.endpoints.api}/` }]);
  expect([absent.code, wrong.code]).toEqual([1, 2]);
});
