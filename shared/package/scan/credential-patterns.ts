/** Kinds of credentials, as messages describe them. */
export const CREDENTIAL_KINDS = {
  SERVICE_ACCOUNT_KEY: 'the private key of a Google service account',
  PRIVATE_KEY: 'a private key',
  GOOGLE_USER_CREDENTIALS: "a Google user's credentials",
  GOOGLE_API_KEY: 'a Google API key',
  AWS_ACCESS_KEY: 'an AWS access key',
  GITHUB_TOKEN: 'a GitHub token',
  HUGGING_FACE_TOKEN: 'a Hugging Face token',
  OPENAI_KEY: 'an OpenAI key',
  ANTHROPIC_KEY: 'an Anthropic key',
  WANDB_KEY: 'a Weights & Biases key',
  SLACK_TOKEN: 'a Slack token',
  GITLAB_TOKEN: 'a GitLab token',
  AZURE_KEY: 'an Azure key',
  NPM_TOKEN: 'an npm token',
  PYPI_TOKEN: 'a PyPI token',
  KAGGLE_KEY: 'a Kaggle API key',
  PASSWORD: 'a password',
  SECRET_SETTING: 'a secret setting',
} as const satisfies Readonly<Record<string, string>>;

export type CredentialKind = keyof typeof CREDENTIAL_KINDS;

/** Names of files in which tools store credentials, and of templates for them. */
const CREDENTIAL_FILE = new RegExp(
  [
    /(?:^|\/)(?:Dockerfile[^/]*|Makefile|huggingface\/token)$|\.(?:ipynb|slurm|sbatch|conf|ps1|tfvars|envrc)$/,
    /\.(?:json|pem|key|env|ya?ml|toml|cfg|ini|sh|npmrc)$|(?:^|\/)\.env(?:\.[^/]*)?$|(?:^|\/)id_(?:rsa|dsa|ecdsa|ed25519)$/,
    /(?:^|\/)(?:[._]netrc|\.pypirc|\.git-credentials|\.boto|\.aws\/credentials)$/,
    /(?:^|\/)(?:pip\.(?:conf|ini)|[^/]*(?:requirements|constraints)[^/]*\.(?:txt|in))$/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);
/** In a URL of a package index; pip replaces `${NAME}`. */
const URL_PASSWORD = /\bhttps?:\/\/[^\s:@/]{0,200}:(?![^\s@/]*\$\{)[^\s@/]{1,500}@/;
const TEMPLATE_FILE = /(?:^|[/._-])(?:example|sample|template|dist|tmpl)(?:[._-][^/]*)?$/i;

/** PKCS #8, PKCS #1, SEC 1 and OpenSSH keys in PEM (RFC 7468), as a file or in a string with escaped `\n`. */
const PEM_KEY =
  /-----BEGIN (?:RSA |EC |DSA |OPENSSH )?PRIVATE KEY-----(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]|\\[nr]|["'\s]){60}/;

/**
 * Tokens with a recognizable format, matched as whole words only, as their issuers and GitHub's "Supported secret
 * scanning patterns" describe them. Keys in AWS's documentation end in EXAMPLE. The older keys of Weights & Biases
 * are 40 hexadecimal digits, as commits are: they are found by what they are assigned to.
 */
const TOKENS: readonly (readonly [CredentialKind, RegExp])[] = [
  ['GOOGLE_API_KEY', /(?<![\w-])AIza[\w-]{35}(?![\w-])|(?<![\w.-])AQ\.Ab[\w-]{40,60}(?![\w-])/],
  ['AWS_ACCESS_KEY', /(?<!\w)A(?:KIA|SIA)[A-Z0-9]{16}(?<!EXAMPLE)(?!\w)/],
  ['GITHUB_TOKEN', /(?<!\w)(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{82})(?!\w)/],
  ['HUGGING_FACE_TOKEN', /(?<!\w)(?:hf_[A-Za-z0-9]{34}|api_org_[A-Za-z0-9]{34})(?!\w)/],
  ['ANTHROPIC_KEY', /(?<![\w-])sk-ant-[a-z]{3,5}\d\d-[\w-]{80,120}(?![\w-])/],
  ['OPENAI_KEY', /(?<![\w-])sk-(?:[a-z]{3,10}-)?[\w-]{20,100}T3BlbkFJ[\w-]{20,100}(?![\w-])/],
  [
    'WANDB_KEY',
    /(?<!\w)wandb_v1_\w{40,120}(?!\w)|(?:wandb[_-]?(?:api[_-]?)?key|wandb\.login\([^)\n]{0,80}\bkey|wandb login)(?:[^\n]{0,40}?[^\w/.@-]|["'\]\s:=]{1,8})(?:local-)?[0-9a-f]{40}(?!\w)/i,
  ],
  [
    'SLACK_TOKEN',
    /(?<!\w)xox[abeprs]-\d{8,14}-[\w-]{20,200}|(?<!\w)xapp-\d-A\w{8,12}-\d{10,14}-[0-9a-f]{60,70}|hooks\.slack\.com\/services\/T\w{8,12}\/B\w{8,12}\/\w{24}(?!\w)/,
  ],
  ['GITLAB_TOKEN', /(?<!\w)gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|ffct|agent|oas|soat)-[\w-]{20,300}(?![\w-])/],
  // Without the key that the storage emulator has everywhere.
  [
    'AZURE_KEY',
    /(?:account|storage|access)_?key["'\]]{0,2}\s{0,3}[:=]\s{0,3}["']?(?!Eby8vdM02xNOcqFl)[A-Za-z0-9+/]{86}==|(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])/i,
  ],
  ['NPM_TOKEN', /(?<!\w)npm_[A-Za-z0-9]{36}(?!\w)/],
  ['PYPI_TOKEN', /(?<![\w-])pypi-AgE[IN][\w-]{60,250}(?![\w-])/],
];

/** The text that documentation and tests write in place of a token: the same character again and again, or TEST. */
const PLACEHOLDER = /(.)\1{7}|testtest/i;

/** Settings of an .env file are secrets by name, unless the value is a path or a placeholder. */
const SECRET_NAME = /(?:^|_)(?:SECRET|TOKEN|PASSWORD|PASSWD|APIKEY|KEY)(?:_|$)/i;
const SECRET_VALUE = /^(?=.*\d)(?=.*[A-Za-z])[^\s"'<>{}$]{12,}$/;
const NOT_A_SECRET = /your|change|example|placeholder|dummy|xxx|test|:\/\/|^[./~]|\.(?:json|pem|key|txt)$/i;

/** In texts of errors and requests: what authorizes the request, and addresses that are secrets themselves. */
const IN_REQUESTS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?:(?!-----END)[\s\S])*(?:-----END [A-Z ]{0,20}PRIVATE KEY-----)?/,
  /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?|\bya29\.[\w.-]{8,}|(?<!\w)1\/\/0[\w-]{20,}/,
  /\bBearer\s{1,5}[\w.~+/=-]{8,}|\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:[a-z]{1,20}\s{1,3})?[^\s"',]{8,}/i,
  /(?<=(?:passw(?:or)?d|client_secret|secret_access_key|(?:access|refresh|id|security)[_-]token)["']?\s{0,3}[:=]\s{0,3}["']?)[^\s"'&,;]{4,}/i,
  /(?<=:\/\/)[^\s/@]{1,1000}(?=@)|(?<=[?&](?:access_token|key|token|sig|(?:x-(?:goog|amz)-)?signature)=)[^\s&"']+/i,
  /\/\/(?:hooks\.slack\.com|chat\.googleapis\.com\/v1\/spaces|(?:\w+\.)?discord(?:app)?\.com\/api\/webhooks)\/[^\s"']+/i,
  /\/\/[\w.-]{1,200}\.(?:logic\.azure|powerplatform|webhook\.office)\.com[/:][^\s"']+/i,
];
const MASKED = [...TOKENS.map(([, pattern]) => pattern), ...IN_REQUESTS].map(
  (pattern) => new RegExp(pattern, `g${pattern.flags}`),
);

/** No credential is shorter, and most strings of a log are. */
const MASKED_CHARACTERS_MIN = 12;

/** The text with *** in place of everything that looks like a credential, examples included. */
export function maskCredentials(text: string): string {
  return text.length < MASKED_CHARACTERS_MIN
    ? text
    : MASKED.reduce((masked, pattern) => masked.replace(pattern, '***'), text);
}

export function mayContainCredential(path: string): boolean {
  return CREDENTIAL_FILE.test(path) && !TEMPLATE_FILE.test(path);
}

/** The kind of the first token with a recognizable format in a text; null if there is none. */
export function findToken(text: string): CredentialKind | null {
  const isReal = ([token]: RegExpExecArray) => !PLACEHOLDER.test(token);
  return (
    TOKENS.find(([, pattern]) => text.matchAll(new RegExp(pattern, `g${pattern.flags}`)).some(isReal))?.[0] ?? null
  );
}

/** The most serious kind of credential in a text; null if there is none. Never returns the secret itself. */
export function findCredential(path: string, text: string): CredentialKind | null {
  if (PEM_KEY.test(text)) {
    return /"type"\s*:\s*"service_account"/.test(text) ? 'SERVICE_ACCOUNT_KEY' : 'PRIVATE_KEY';
  }
  return findToken(text) ?? findByFileName(path.slice(path.lastIndexOf('/') + 1).toLowerCase(), path, text);
}

function findByFileName(name: string, path: string, text: string): CredentialKind | null {
  if (name.endsWith('.json')) {
    if (/"type"\s*:\s*"authorized_user"/.test(text) && /"refresh_token"\s*:\s*"[^"]{20}/.test(text)) {
      return 'GOOGLE_USER_CREDENTIALS';
    }
    return name === 'kaggle.json' && /"key"\s*:\s*"[0-9a-f]{32}"/.test(text) ? 'KAGGLE_KEY' : null;
  }
  if (path.endsWith('.aws/credentials') || name === '.boto') {
    return /secret_access_key\s*=\s*[\w/+=]{20}/.test(text) ? 'AWS_ACCESS_KEY' : null;
  }
  if (/^[._]netrc$/.test(name)) {
    return /\bpassword\s+\S/.test(text) ? 'PASSWORD' : null;
  }
  if (name === '.pypirc') {
    return /^[ \t]*password[ \t]*[:=][ \t]*\S/m.test(text) ? 'PASSWORD' : null;
  }
  if (name === '.git-credentials') {
    return /^https?:\/\/[^\s:@/]{1,200}:[^\s@/]{1,200}@/m.test(text) ? 'PASSWORD' : null;
  }
  if (/^pip\.|\.(?:txt|in)$/.test(name)) {
    return URL_PASSWORD.test(text) ? 'PASSWORD' : null;
  }
  return name.includes('.env') && text.split('\n').some(isSecretSetting) ? 'SECRET_SETTING' : null;
}

function isSecretSetting(line: string): boolean {
  const [name = '', ...values] = line.split('=');
  const value = values
    .join('=')
    .trim()
    .replace(/^(["'])(.*)\1$/, '$2');
  return SECRET_NAME.test(name.trim()) && SECRET_VALUE.test(value) && !NOT_A_SECRET.test(value);
}
