import { describe, expect, it } from 'vitest';
import { lint, reportOf, verdictOf } from '../../support/package/lint-subject.ts';

/** Put together here, so that no scanner of repositories takes them for real ones. */
const SECRET = 'q7RkT2vN9xLm4Zb8';
const BODY = `${SECRET}`.repeat(8);
const PEM = ['-----BEGIN', 'PRIVATE KEY-----\n'].join(' ') + BODY;
const AWS = `AK${'IA'}${SECRET.toUpperCase()}`;
const GOOGLE = `AI${'za'}${SECRET}${SECRET}abc`;
const HUGGING_FACE = `h${'f'}_${SECRET}${SECRET}ab`;
const SERVICE_ACCOUNT = JSON.stringify({ type: 'service_account', private_key: PEM, client_email: 'a@b' });

const FAILS = ['ERROR CREDENTIALS_IN_PACKAGE'];
const WARNS = ['WARNING CREDENTIALS_IN_PACKAGE'];

describe('credentials in a package', () => {
  it.each([
    ['trainer/privatekey.json', SERVICE_ACCOUNT],
    ['key.pem', PEM],
    ['deploy/id_rsa', PEM.replace('PRIVATE', 'RSA PRIVATE')],
    ['trainer/config.py', `KEY = """${PEM}"""`],
  ])('are an error for a private key: %s', async (path, text) => {
    expect(await verdictOf({ [path]: text })).toEqual(FAILS);
  });

  it.each([
    ['tests/fixtures/key.pem', PEM],
    ['trainer/task.py', `KEY = '${AWS}'`],
    ['trainer/task.py', `KEY = '${GOOGLE}'`],
    ['trainer/task.py', `login("${HUGGING_FACE}")`],
    ['.env', `DEBUG=1\nexport WANDB_API_KEY="${SECRET}"\n`],
    ['prod.env', `DB_PASSWORD=${SECRET}\r\n`],
    ['.aws/credentials', `[default]\naws_secret_access_key = ${SECRET}${SECRET}\n`],
    ['.netrc', `machine api.wandb.ai login user password ${SECRET}`],
    ['kaggle.json', `{"username": "me", "key": "${'0a1b2c3d'.repeat(4)}"}`],
    ['adc.json', `{"type": "authorized_user", "refresh_token": "${SECRET}${SECRET}"}`],
    ['.git-credentials', `https://me:${SECRET}@github.com`],
    ['.pypirc', `[pypi]\npassword = ${SECRET}`],
    ['pip.conf', `[global]\nindex-url = https://me:${SECRET}@pypi.example/simple`],
    ['requirements-gpu.txt', `--extra-index-url https://me:${SECRET}@pypi.example/simple\nrich\n`],
  ])('are a warning otherwise: %s', async (path, text) => {
    expect(await verdictOf({ [path]: text })).toEqual(WARNS);
  });

  it.each([
    ['trainer/config.json', '{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\n..."}'],
    ['certificate.pem', PEM.replace('PRIVATE KEY', 'CERTIFICATE')],
    ['public.pem', PEM.replace('PRIVATE', 'PUBLIC')],
    ['trainer/task.py', 'if text.startswith("-----BEGIN PRIVATE KEY-----"):\n    raise ValueError(text)\n'],
    ['trainer/task.py', `KEY = 'AK${'IA'}IOSFODNN7EXAMPLE'`],
    ['trainer/task.py', `KEY = 'x${AWS}'`],
    ['.env', 'API_KEY=\nTOKEN=<your-token-1>\nSECRET=$A_SECRET_1234567\nTOKENIZERS_PARALLELISM=false1234567\n'],
    ['.env', 'GOOGLE_KEY=./keys/service-1.json\nSORT_KEY=created_at\nMONGO_KEY=https://host1.example/\n'],
    ['.env.example', `API_KEY=${SECRET}`],
    ['kaggle.json', '{"username": "me", "key": "your key"}'],
    ['.netrc', 'machine api.wandb.ai login user'],
    [
      'requirements.txt',
      `-i https://me:\${INDEX_PASSWORD}@pypi.example/simple\na @ https://host.example:8080/a.whl@1\n`,
    ],
    ['.venv/lib/tests/key.pem', PEM],
  ])('are not reported for %s: %j', async (path, text) => {
    expect(await verdictOf({ [path]: text })).toEqual([]);
  });

  it('are reported by file and kind, without any part of the secret', async () => {
    const files = {
      'key.json': SERVICE_ACCOUNT,
      'trainer/task.py': `a = '${AWS}'\nb = '${GOOGLE}'`,
      '.env': `A_KEY=${SECRET}`,
    };
    const report = await reportOf(files);
    const findings = lint([report]);
    expect(findings.problems).toMatchObject([
      { path: 'trainer-1.0/key.json', message: expect.stringContaining('the private key of a Google service account') },
    ]);
    expect(findings.warnings.map(({ path }) => path)).toEqual(['trainer-1.0/trainer/task.py', 'trainer-1.0/.env']);
    const output = JSON.stringify([findings, report.evidence]);
    expect([SECRET, SECRET.toUpperCase()].filter((secret) => output.includes(secret))).toEqual([]);
  });

  it('are limited in number', async () => {
    const keys = Array.from({ length: 30 }, (_, index) => [`keys/${index}.pem`, PEM]);
    expect(lint([await reportOf(Object.fromEntries(keys))]).problems).toHaveLength(5);
  });
});
