import { storageError } from '#infra/embedded/cloud-storage/error.ts';
import { escapeRegExp } from '#shared/text/escape-reg-exp.ts';

const CHARACTERS_MAX = 1_024;

/**
 * Node's regular expressions backtrack: matching can take as many steps as the name has characters to the power of the
 * stars.
 */
const STARS_COUNT_MAX = 5;

const TOKEN = /(?<=^|\/)\*\*\/|\*+|\?|\[!?[^\]/]+\]|[{},]|\\.|./gsu;

/**
 * Compiles `matchGlob` into a predicate on object names: `*` and `?` match within one level, `**` across levels,
 * `[a-z]` and `[!a-z]` match one character, `{a,b}` one of several alternatives. Node's own matchesGlob is for files:
 * it skips names with a leading dot and treats `**` as `*` next to other characters. Throws a storage error if the glob
 * is invalid or over the limits. Source: https://cloud.google.com/storage/docs/json_api/v1/objects/list
 */
export function compileGlob(glob: string): (name: string) => boolean {
  const tokens = glob.match(TOKEN) ?? [];
  const stars = tokens.filter((token) => token.startsWith('*')).length;
  if (glob.length > CHARACTERS_MAX || stars > STARS_COUNT_MAX) {
    throw storageError(
      'INVALID',
      `The embedded cloud supports a matchGlob of at most ${CHARACTERS_MAX} characters and ${STARS_COUNT_MAX} stars. ` +
        'Filter by prefix as well.',
    );
  }
  let depth = 0;
  const parts = tokens.map((token) => {
    depth += token === '{' ? 1 : token === '}' ? -1 : 0;
    return translate(token, depth > 0);
  });
  try {
    const pattern = new RegExp(`^(?:${parts.join('')})$`, 'su');
    return (name) => pattern.test(name);
  } catch {
    throw storageError('INVALID', `The matchGlob ${glob} is not valid: its brackets or braces are not balanced.`);
  }
}

function translate(token: string, isInBraces: boolean): string {
  switch (token) {
    case '**/':
      return '(?:.*/)?';
    case '*':
      return '[^/]*';
    case '?':
      return '[^/]';
    case '{':
      return '(?:';
    case '}':
      return ')';
    case ',':
      return isInBraces ? '|' : ',';
    default:
      return token.startsWith('*') ? '.*' : translateCharacters(token);
  }
}

function translateCharacters(token: string): string {
  const [, negation, characters] = /^\[(!?)(.+)\]$/su.exec(token) ?? [];
  return characters === undefined
    ? escapeRegExp(token.replace(/^\\(?=.)/u, ''))
    : `[${negation === '!' ? '^/' : ''}${characters.replaceAll(/[\\^[]/g, String.raw`\\$&`)}]`;
}
