import { Lexer, LineCounter, parseDocument, type YAMLParseError, type YAMLWarning } from 'yaml';
import { explainSyntax } from '#shared/job-file/parser/explain-syntax.ts';
import { type SourceTree, toSourceTree } from '#shared/job-file/parser/source-tree.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** Far above the size of any real job file. */
export const JOB_FILE_BYTES_MAX = 1 << 20;

/** Bounds parsing time: a mebibyte of brackets would otherwise take minutes. */
const TOKENS_COUNT_MAX = 50_000;

/** One syntax error causes further ones; only the first few are reported. */
const SYNTAX_PROBLEMS_COUNT_MAX = 3;

/**
 * Parses YAML 1.2 (and therefore JSON) in UTF-8 or UTF-16. Time and memory are bounded for any input by limits on size,
 * tokens, depth and values. The root is null if the file cannot be parsed.
 */
export function parseSource(source: string | Uint8Array, fileName: string): SourceTree {
  const sizeBytes = typeof source === 'string' ? Buffer.byteLength(source) : source.byteLength;
  if (sizeBytes > JOB_FILE_BYTES_MAX) {
    const message = `${fileName} is larger than ${JOB_FILE_BYTES_MAX} bytes, the limit for job files.`;
    return rejectSource({
      code: 'FILE_TOO_LARGE',
      message,
      remedy: 'Specify the job file, not a package or a data file.',
    });
  }
  const text = decodeJobFile(source);
  if (text === null || text.includes('\0')) {
    const remedy = 'Save the file as UTF-8 text; pass an archive with --package.';
    const message = `${fileName} is neither UTF-8 nor UTF-16 text.`;
    return rejectSource({ code: 'NOT_TEXT', message, remedy });
  }
  if (hasTooManyTokens(text)) {
    const message = `${fileName} has more than ${TOKENS_COUNT_MAX} tokens.`;
    return rejectSource({ code: 'TOO_MANY_VALUES', message, remedy: 'Specify the job file, not a data file.' });
  }
  const tree = parseText(text, fileName);
  const isText = tree.root?.kind === 'SCALAR' || tree.problems.some(({ code }) => code === 'NOT_YAML');
  const explained = isText ? explainSyntax(text) : undefined;
  return explained === undefined ? tree : rejectSource(explained);
}

function parseText(text: string, fileName: string): SourceTree {
  const lines = new LineCounter();
  // source-tree.ts reports duplicate keys, in linear time.
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'error',
  });
  if (document.errors.length > 0) {
    const first = document.errors.slice(0, SYNTAX_PROBLEMS_COUNT_MAX);
    return { root: null, problems: first.map((error) => toProblem(error, { fileName, lines })) };
  }
  const tag = document.warnings.find(({ code }) => code === 'TAG_RESOLVE_FAILED');
  if (tag !== undefined) {
    return { root: null, problems: [describeTag(tag, lines)] };
  }
  return document.contents === null
    ? rejectSource({
        code: 'NOT_A_JOB_FILE',
        message: `${fileName} is empty.`,
        remedy: 'Write a job with module: or trainingInput: into it.',
      })
    : toSourceTree(document.contents, lines);
}

/** Tags such as `!env NAME` and `!include FILE` have a meaning only to the program that defines them. */
function describeTag({ pos }: YAMLWarning, lines: LineCounter): Problem {
  const { line } = lines.linePos(pos[0]);
  const message = `Line ${line} has a YAML tag, a word that starts with "!". Tags are not supported.`;
  return { code: 'NOT_YAML', message, remedy: 'Write the value itself, and put text with a "!" in quotes.', line };
}

function toProblem(
  error: YAMLParseError,
  { fileName, lines }: { readonly fileName: string; readonly lines: LineCounter },
): Problem {
  const { line } = lines.linePos(error.pos[0]);
  switch (error.code) {
    case 'RESOURCE_EXHAUSTION':
      return { code: 'TOO_DEEP', message: `${fileName} nests values too deeply.`, remedy: 'Remove the nesting.', line };
    case 'MULTIPLE_DOCS':
      return {
        code: 'MULTIPLE_DOCUMENTS',
        message: `${fileName} has more than one document: the second one starts in line ${line}.`,
        remedy: 'Put each job into its own file.',
        line,
      };
    case 'TAB_AS_INDENT':
      return { code: 'NOT_YAML', message: `Line ${line} is indented with a tab.`, remedy: 'Indent with spaces.', line };
    default:
      return {
        code: 'NOT_YAML',
        message: `${fileName} is neither YAML nor JSON: ${error.message.replace(/\.?$/, '.')}`,
        remedy: 'Fix the indentation and punctuation here; put text that contains a colon, a # or a bracket in quotes.',
        line,
      };
  }
}

function hasTooManyTokens(text: string): boolean {
  let count = 0;
  for (const _token of new Lexer().lex(text)) {
    count += 1;
    if (count > TOKENS_COUNT_MAX) {
      return true;
    }
  }
  return false;
}

/**
 * The text of a job file; null if it is neither UTF-8 nor UTF-16. Detects the encoding by byte order mark, or by the
 * position of the first null byte (YAML 1.2.2, section 5.2).
 */
export function decodeJobFile(source: string | Uint8Array): string | null {
  if (typeof source === 'string') {
    return source.replace(/^\uFEFF/, '');
  }
  const [first, second] = source;
  const isBigEndian = (first === 0xfe && second === 0xff) || first === 0;
  const isLittleEndian = (first === 0xff && second === 0xfe) || second === 0;
  try {
    const encoding = isBigEndian ? 'utf-16be' : isLittleEndian ? 'utf-16le' : 'utf-8';
    return new TextDecoder(encoding, { fatal: true }).decode(source);
  } catch (error) {
    if (error instanceof TypeError) {
      return null;
    }
    throw error;
  }
}

function rejectSource(problem: Problem): SourceTree {
  return { root: null, problems: [problem] };
}
