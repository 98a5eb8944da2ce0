import { describe, expect, it } from 'vitest';
import { checkArguments, checkEnvironment } from '#shared/job-file/validation/check-arguments.ts';
import { findToken } from '#shared/package/scan/credential-patterns.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { located } from '../../support/job-file/located.ts';

/** Text of a length, put together here, so that no scanner of repositories takes a token for a real one. */
const word = (length: number) => 'q7RkT2vN9xLm4Zb8'.repeat(20).slice(0, length);
const hex = (length: number) => '0a1b2c3d4e5f6789'.repeat(20).slice(0, length);
const join = (...parts: readonly string[]) => parts.join('');

describe('tokens that packages leak', () => {
  it.each([
    ['OPENAI_KEY', join('sk', '-', word(20), 'T3Blbk', 'FJ', word(20))],
    ['OPENAI_KEY', join('sk', '-proj-', word(74), 'T3Blbk', 'FJ', word(74))],
    ['OPENAI_KEY', join('sk', '-svcacct-', word(58), 'T3Blbk', 'FJ', word(58))],
    ['ANTHROPIC_KEY', join('sk', '-ant-', 'api03-', word(93), 'AA')],
    ['ANTHROPIC_KEY', join('sk', '-ant-', 'admin01-', word(93), 'AA')],
    ['HUGGING_FACE_TOKEN', join('h', 'f_', word(34))],
    ['HUGGING_FACE_TOKEN', join('api', '_org_', word(34))],
    ['WANDB_KEY', join('WANDB_API', '_KEY=', hex(40))],
    ['WANDB_KEY', `os.environ["${join('WANDB_API', '_KEY')}"] = "${hex(40)}"`],
    ['WANDB_KEY', `wandb.login(key="${hex(40)}")`],
    ['WANDB_KEY', join('wandb', '_v1_', word(77))],
    ['WANDB_KEY', `wandb login --relogin ${hex(40)}`],
    ['WANDB_KEY', `os.environ.setdefault("${join('WANDB_API', '_KEY')}", "${hex(40)}")`],
    ['WANDB_KEY', `parser.add_argument('--wandb-api-key', default='local-${hex(40)}')`],
    ['GOOGLE_API_KEY', join('AQ', '.Ab', word(48))],
    ['SLACK_TOKEN', join('xo', 'xb-', '123456789012-1234567890123-', word(24))],
    ['SLACK_TOKEN', join('xa', 'pp-1-A0123456789-1234567890123-', hex(64))],
    ['SLACK_TOKEN', join('https://hooks.slack', '.com/services/T01234567/B01234567/', word(24))],
    ['GITLAB_TOKEN', join('gl', 'pat-', word(20))],
    ['GITLAB_TOKEN', join('gl', 'rt-', word(20))],
    ['AZURE_KEY', join('Account', 'Key=', word(86), '==')],
    ['AZURE_KEY', `account_key: ${word(86)}==`],
    ['AZURE_KEY', `storage_key = "${word(86)}=="`],
    ['GITLAB_TOKEN', join('gl', 'oas-', hex(64))],
    ['AWS_ACCESS_KEY', join('AK', 'IA', 'TEST'.repeat(4), ' ', 'AK', 'IA', 'Q7RKT2VN9XLM4ZB8')],
    ['AZURE_KEY', `secret="${join('abc8', 'Q', '~', word(34))}"`],
    ['NPM_TOKEN', join('np', 'm_', word(36))],
    ['PYPI_TOKEN', join('py', 'pi-AgE', 'IcHlwaS5vcmc', word(120))],
    ['PYPI_TOKEN', join('py', 'pi-AgE', 'NdGVzdC5weXBpLm9yZw', word(120))],
    ['GITHUB_TOKEN', join('gh', 'p_', word(36))],
  ])('are found: %s', (kind, text) => {
    expect(findToken(`token = ${text}\n`)).toBe(kind);
  });

  it.each([
    `commit ${hex(40)}`,
    `sha1 = "${hex(40)}"`,
    'sk-learn-contrib-estimators-that-have-a-long-name-and-more',
    'hf_transfer and hf_hub_download(repo_id)',
    'npm_package_config_registry_with_a_long_name',
    'glpat-short',
    'xoxo-and-kisses-from-the-other-side',
    'pypi-publish-to-the-index',
    'wandb.login()',
    'WANDB_API_KEY=$WANDB_API_KEY',
    'AccountKey=<your key>',
    'api_org_members',
    'the model Q~8',
    join('AK', 'IA', 'TEST'.repeat(4)),
    join('AK', 'IA', 'Z'.repeat(16)),
    join('gh', 'p_', 'x'.repeat(36)),
    `WANDB_API_KEY is not set, see commit ${'a'.repeat(7)}`,
  ])('are not seen in %s', (text) => {
    expect(findToken(text)).toBeNull();
  });
});

it('a token in a variable or an argument of a job is a warning that does not repeat it', () => {
  const findings = { problems: [] as Problem[], warnings: [] as Problem[], unsupported: [] as Problem[] };
  const token = join('h', 'f_', word(34));
  const variables = { HF_TOKEN: token, AWS_SECRET_ACCESS_KEY: word(40), BATCH_SIZE: '128', TOKENIZER: 'bert-base' };
  checkEnvironment(
    Object.entries(variables).map(([key, text]) => located({ key, text }, `env.${key}`)),
    findings,
  );
  const args = [`--token=${token}`, '--wandb_key', hex(40)];
  checkArguments(
    args.map((text, index) => located(text, `args[${index}]`)),
    findings,
  );
  expect(findings.warnings.map(({ code, path }) => `${code} ${path}`)).toEqual([
    'CREDENTIAL_IN_JOB env.HF_TOKEN',
    'CREDENTIAL_IN_JOB env.AWS_SECRET_ACCESS_KEY',
    'CREDENTIAL_IN_JOB args[0]',
    'CREDENTIAL_IN_JOB args[2]',
  ]);
  expect(JSON.stringify(findings)).not.toContain(token);
});
