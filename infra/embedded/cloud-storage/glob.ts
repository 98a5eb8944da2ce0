import { refusal } from '#infra/embedded/cloud-storage/error.ts';

const CHARACTERS_MAX = 1_024;

/** A regular expression of Node's can take as many steps as a name has characters, to the power of its stars. */
const STARS_COUNT_MAX = 5;

const TOKEN = /(?<=^|\/)\*\*\/|\*+|\?|\[!?[^\]/]+\]|[{},]|\\.|./gsu;

/**
 * Whether an object's name matches `matchGlob`: `*` and `?` stay within one level, `**` does not, `[a-z]` and `[!a-z]`
 * are one character, `{a,b}` one of several. Node's own matchesGlob knows files: it passes over names with a leading dot
 * and takes `**` for `*` beside other letters. Source: https://cloud.google.com/storage/docs/json_api/v1/objects/list
 */
export function compileGlob(glob: string): (name: string) => boolean {
  const tokens = glob.match(TOKEN) ?? [];
  const stars = tokens.filter((token) => token.startsWith('*')).length;
  if (glob.length > CHARACTERS_MAX || stars > STARS_COUNT_MAX) {
    throw refusal(
      'INVALID',
      `A matchGlob has at most ${CHARACTERS_MAX} characters and ${STARS_COUNT_MAX} stars in the embedded cloud. ` +
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
    throw refusal('INVALID', `The matchGlob ${glob} is none: its brackets or braces do not fit together.`);
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
      return token.startsWith('*') ? '.*' : translateLetters(token);
  }
}

function translateLetters(token: string): string {
  const [, negation, characters] = /^\[(!?)(.+)\]$/su.exec(token) ?? [];
  return characters === undefined
    ? RegExp.escape(token.replace(/^\\(?=.)/u, ''))
    : `[${negation === '!' ? '^/' : ''}${characters.replaceAll(/[\\^[]/g, String.raw`\\$&`)}]`;
}
