import { expect, it } from 'vitest';
import { describeDenial, findPerimeterDenial } from '#shared/domain/perimeter-denial.ts';

const ID = 'eYhDkfYCu-dOCjuj8X4Am9-spkxs0-kX5YnhAJmc3PZ7pmNNfSsqtQ';
const SENTENCE = `Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: ${ID}`;

it.each([
  [
    'the JSON API of Cloud Storage',
    JSON.stringify({ error: { code: 403, message: SENTENCE, errors: [{ reason: 'vpcServiceControls' }] } }),
  ],
  ['a client library', `googleapi: Error 403: ${SENTENCE}`],
  [
    'the XML API of Cloud Storage',
    `<Code>SecurityPolicyViolated</Code><Message>Request violates VPC Service Controls.</Message><Details>vpcServiceControlsUniqueIdentifier: ${ID}</Details>`,
  ],
])('finds the unique id in the answer of %s', (_, answer) => {
  expect(findPerimeterDenial(answer)).toEqual({ uniqueId: ID });
});

it('finds a denial without a unique id', () => {
  const answer = '{"reason":"SECURITY_POLICY_VIOLATED","domain":"googleapis.com"}';
  expect(findPerimeterDenial(answer)).toEqual({ uniqueId: null });
  expect(describeDenial('it', { uniqueId: null })).toBe('VPC Service Controls denied it.');
});

it.each([
  'trainer@p.iam.gserviceaccount.com does not have storage.objects.get access to the Google Cloud Storage object.',
  'Constraint constraints/compute.vmExternalIpAccess violated for project p.',
  '',
])('finds none in another refusal: %s', (answer) => {
  expect(findPerimeterDenial(answer)).toBeNull();
});

it('takes bounded time for hostile text', () => {
  const text = 'vpcServiceControlsUniqueIdentifier'.repeat(20_000);
  expect(findPerimeterDenial(text)).toBeNull();
});
