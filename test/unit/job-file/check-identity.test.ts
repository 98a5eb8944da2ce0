import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT } from '#shared/job-file/draft/job-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkIdentity } from '#shared/job-file/validation/check-identity.ts';
import { located } from '../../support/job-file/located.ts';

type Field = 'serviceAccount' | 'network' | 'subnetwork' | 'networkAttachment' | 'kmsKeyName';

function check(field: Field, text: string) {
  const findings = createFindings();
  const draft = { ...EMPTY_DRAFT, [field]: located(text, `trainingInput.${field}`, 7) };
  return { value: checkIdentity(draft, findings)[field], problems: findings.problems };
}

const KEY = 'projects/acme/locations/europe/keyRings/Ring_1/cryptoKeys/Key-2';

describe('service account, network and encryption key', () => {
  it('are null by default', () => {
    const findings = createFindings();
    const nothing = {
      serviceAccount: null,
      network: null,
      subnetwork: null,
      networkAttachment: null,
      kmsKeyName: null,
    };
    expect(checkIdentity(EMPTY_DRAFT, findings)).toEqual(nothing);
    expect(check('network', '')).toEqual({ value: null, problems: [] });
  });

  it.each<[Field, string]>([
    ['serviceAccount', 'trainer@acme-12.iam.gserviceaccount.com'],
    ['serviceAccount', 'trainer@acme.example.com.iam.gserviceaccount.com'],
    ['serviceAccount', '1234-compute@developer.gserviceaccount.com'],
    ['serviceAccount', 'acme@appspot.gserviceaccount.com'],
    ['network', 'projects/acme/global/networks/default'],
    ['network', 'projects/12345/global/networks/vpc-2'],
    ['network', 'projects/example.com:acme/global/networks/vpc-2'],
    ['subnetwork', 'projects/acme/regions/us-central1/subnetworks/gpu'],
    ['networkAttachment', 'projects/12345/regions/europe-west4/networkAttachments/data'],
    ['networkAttachment', 'data'],
    ['kmsKeyName', KEY],
  ])('accept the %s %s', (field, text) => {
    expect(check(field, text)).toEqual({ value: text, problems: [] });
  });

  it.each<[Field, string, string]>([
    ['serviceAccount', 'trainer', 'INVALID_SERVICE_ACCOUNT'],
    ['serviceAccount', 'someone@gmail.com', 'INVALID_SERVICE_ACCOUNT'],
    ['serviceAccount', 'a b@acme.iam.gserviceaccount.com', 'INVALID_SERVICE_ACCOUNT'],
    ['serviceAccount', 'x@evil.com/.gserviceaccount.com', 'INVALID_SERVICE_ACCOUNT'],
    ['network', 'default', 'INVALID_NETWORK'],
    ['network', 'projects/acme/networks/default', 'INVALID_NETWORK'],
    ['network', 'projects/acme/global/networks/', 'INVALID_NETWORK'],
    ['network', 'projects/acme/global/networks/default/x', 'INVALID_NETWORK'],
    ['subnetwork', 'gpu', 'INVALID_SUBNETWORK'],
    ['subnetwork', 'projects/acme/zones/us-central1-a/subnetworks/gpu', 'INVALID_SUBNETWORK'],
    ['networkAttachment', 'regions/us-central1/networkAttachments/data', 'INVALID_NETWORK_ATTACHMENT'],
    ['networkAttachment', 'Data', 'INVALID_NETWORK_ATTACHMENT'],
    ['kmsKeyName', 'my-key', 'INVALID_KMS_KEY'],
    ['kmsKeyName', `${KEY}/cryptoKeyVersions/1`, 'INVALID_KMS_KEY'],
    ['kmsKeyName', `${KEY}\n`, 'INVALID_KMS_KEY'],
    ['serviceAccount', '$ACCOUNT', 'PLACEHOLDER'],
    ['serviceAccount', 'USER_SA_EMAIL', 'PLACEHOLDER'],
    ['network', 'projects/PROJECT_NUMBER/global/networks/default', 'PLACEHOLDER'],
    ['kmsKeyName', '<key>', 'PLACEHOLDER'],
  ])('reject the %s %s: %s', (field, text, code) => {
    const { value, problems } = check(field, text);
    expect(value).toBeNull();
    expect(problems).toMatchObject([{ code, path: `trainingInput.${field}`, line: 7 }]);
  });

  it('suggest the full name of a network, and to remove the version of a key', () => {
    expect(check('network', 'vpc-2').problems[0]?.remedy).toContain('projects/my-project/global/networks/vpc-2');
    expect(check('kmsKeyName', `${KEY}/cryptoKeyVersions/1`).problems[0]?.remedy).toContain('Remove the version');
  });

  it('quote only the beginning of a long value', () => {
    expect(check('network', 'x'.repeat(100_000)).problems[0]?.message.length).toBeLessThan(300);
  });
});
