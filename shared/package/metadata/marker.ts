import { compareReleases, satisfiesOperator } from '#shared/package/metadata/version-specifier.ts';

/** Values of environment markers on the VM (PyPA, "Dependency specifiers"); other variables are unknown. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  os_name: 'posix',
  sys_platform: 'linux',
  platform_system: 'Linux',
  platform_machine: 'x86_64',
  platform_python_implementation: 'CPython',
  implementation_name: 'cpython',
  // Packages of a job are installed without extras.
  extra: '',
};

const TOKEN = /\s*(?:(?<paren>[()])|(?<text>'[^']*'|"[^"]*")|(?<operator>[<>=!~]{1,3})|(?<word>[A-Za-z_.]+))/y;
/** Longer markers are not evaluated. */
const MARKER_CHARACTERS_MAX = 500;

type Reader = { readonly tokens: readonly string[]; readonly pythonVersion: string | null; index: number };

/**
 * Whether an environment marker, `python_version < "3.8" and sys_platform == "linux"`, holds on the VM; null if it is
 * unknown or the marker cannot be parsed.
 *
 * @param pythonVersion the Python version of the machine image, `3.10`; null if unknown
 */
export function evaluateMarker(marker: string, pythonVersion: string | null): boolean | null {
  const tokens = tokenize(marker);
  if (tokens === null) {
    return null;
  }
  const reader = { tokens, pythonVersion, index: 0 };
  const value = readOr(reader);
  return reader.index === tokens.length ? value : null;
}

function tokenize(marker: string): string[] | null {
  const tokens: string[] = [];
  let index = 0;
  const text = marker.trimEnd();
  while (index < text.length) {
    TOKEN.lastIndex = index;
    const match = text.length > MARKER_CHARACTERS_MAX ? null : TOKEN.exec(text);
    if (match === null) {
      return null;
    }
    tokens.push(match[0].trim());
    index += match[0].length;
  }
  return tokens;
}

function readOr(reader: Reader): boolean | null {
  return readJoined(reader, { word: 'or', read: readAnd, decisive: true });
}

function readAnd(reader: Reader): boolean | null {
  return readJoined(reader, { word: 'and', read: readTerm, decisive: false });
}

type Joined = { readonly word: string; readonly read: (reader: Reader) => boolean | null; readonly decisive: boolean };

/** Operands between a word: one of them that is `decisive` decides, whatever the unknown ones are. */
function readJoined(reader: Reader, { word, read, decisive }: Joined): boolean | null {
  const values = [read(reader)];
  while (reader.tokens[reader.index] === word) {
    reader.index += 1;
    values.push(read(reader));
  }
  return values.includes(decisive) ? decisive : values.includes(null) ? null : !decisive;
}

function readTerm(reader: Reader): boolean | null {
  if (reader.tokens[reader.index] === '(') {
    reader.index += 1;
    const value = readOr(reader);
    reader.index += reader.tokens[reader.index] === ')' ? 1 : 0;
    return value;
  }
  const [left = '', operator = '', right = ''] = reader.tokens.slice(reader.index, reader.index + 3);
  // `not in` has two tokens.
  reader.index += operator === 'not' ? 4 : 3;
  const isTextFirst = /^["']/.test(left);
  const variable = isTextFirst ? right : left;
  const text = (isTextFirst ? left : right).slice(1, -1);
  if (variable === 'python_version' && !isTextFirst) {
    return reader.pythonVersion === null ? null : comparePython(reader.pythonVersion, operator, text);
  }
  const value = ENVIRONMENT[variable];
  if (value === undefined || (operator !== '==' && operator !== '!=')) {
    return null;
  }
  return (value === text) === (operator === '==');
}

function comparePython(pythonVersion: string, operator: string, text: string): boolean | null {
  if (!/^\d+(?:\.\d+)*$/.test(text)) {
    return null;
  }
  const order = compareReleases(pythonVersion.split('.').slice(0, 2).map(Number), text.split('.').map(Number));
  return satisfiesOperator(operator, order);
}
