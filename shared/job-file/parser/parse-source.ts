import { Lexer, LineCounter, parseDocument, type YAMLParseError, type YAMLWarning } from 'yaml';
import { type SourceTree, toSourceTree } from '#shared/job-file/parser/source-tree.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** No job file that people wrote comes near it. */
export const JOB_FILE_BYTES_MAX = 1 << 20;

/** What a mebibyte of brackets would cost to parse is more than a function should spend on a mistake. */
const TOKENS_COUNT_MAX = 50_000;

/** One slip makes a parser stumble again and again: the first ones tell. */
const SYNTAX_PROBLEMS_COUNT_MAX = 3;

/**
 * Reads YAML 1.2, and so JSON, in UTF-8 or UTF-16. Time and memory are bounded, whatever is given: by the file's size,
 * its tokens, its depth and its values. The root is null where nothing can be read.
 */
export function parseSource(source: string | Uint8Array, fileName: string): SourceTree {
  const sizeBytes = typeof source === 'string' ? Buffer.byteLength(source) : source.byteLength;
  if (sizeBytes > JOB_FILE_BYTES_MAX) {
    const message = `${fileName} has more than ${JOB_FILE_BYTES_MAX} bytes, which no job file needs.`;
    return refuse({ code: 'FILE_TOO_LARGE', message, remedy: 'Name the job file, not a package or a data file.' });
  }
  const text = typeof source === 'string' ? source.replace(/^\uFEFF/, '') : decode(source);
  if (text === null) {
    const remedy = 'Save the file as UTF-8 text.';
    return refuse({ code: 'NOT_TEXT', message: `${fileName} is neither UTF-8 nor UTF-16 text.`, remedy });
  }
  return hasTooManyTokens(text)
    ? refuse({
        code: 'TOO_MANY_VALUES',
        message: `${fileName} holds more than ${TOKENS_COUNT_MAX} words and signs.`,
        remedy: 'A job file is a page of plain fields: name the job file, not a data file.',
      })
    : parseText(text, fileName);
}

function parseText(text: string, fileName: string): SourceTree {
  const lines = new LineCounter();
  // Duplicate keys are found by source-tree.ts, in linear time.
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
    ? refuse({
        code: 'NOT_A_JOB_FILE',
        message: `${fileName} is empty.`,
        remedy: 'Write a job with trainingInput into it.',
      })
    : toSourceTree(document.contents, lines);
}

/** What `!env NAME` or `!include FILE` stand for only the program knows that they were written for. */
function describeTag({ pos }: YAMLWarning, lines: LineCounter): Problem {
  const { line } = lines.linePos(pos[0]);
  const message = `Line ${line} has a tag, a word that begins with "!", and no value behind one is read.`;
  return { code: 'NOT_YAML', message, remedy: 'Write the value itself, and text with a "!" in quotes.', line };
}

function toProblem(
  error: YAMLParseError,
  { fileName, lines }: { readonly fileName: string; readonly lines: LineCounter },
): Problem {
  const { line } = lines.linePos(error.pos[0]);
  switch (error.code) {
    case 'RESOURCE_EXHAUSTION':
      return { code: 'TOO_DEEP', message: `${fileName} nests values too deeply.`, remedy: 'Write plain fields.', line };
    case 'MULTIPLE_DOCS':
      return {
        code: 'MULTIPLE_DOCUMENTS',
        message: `${fileName} holds more than one document: a second one begins in line ${line}.`,
        remedy: 'Put each job into a file of its own.',
        line,
      };
    case 'TAB_AS_INDENT':
      return { code: 'NOT_YAML', message: `Line ${line} is indented with a tab.`, remedy: 'Indent with spaces.', line };
    default:
      return {
        code: 'NOT_YAML',
        message: `${fileName} is neither YAML nor JSON: ${error.message.replace(/\.?$/, '.')}`,
        remedy:
          'Mend the indentation and punctuation here; text with a colon, a # or a bracket in it belongs in quotes.',
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

/** By byte order mark, or by where the zero of the first character stands (YAML 1.2.2, section 5.2). */
function decode(bytes: Uint8Array): string | null {
  const [first, second] = bytes;
  const isBigEndian = (first === 0xfe && second === 0xff) || first === 0;
  const isLittleEndian = (first === 0xff && second === 0xfe) || second === 0;
  try {
    return new TextDecoder(isBigEndian ? 'utf-16be' : isLittleEndian ? 'utf-16le' : 'utf-8', { fatal: true }).decode(
      bytes,
    );
  } catch (error) {
    if (error instanceof TypeError) {
      return null;
    }
    throw error;
  }
}

function refuse(problem: Problem): SourceTree {
  return { root: null, problems: [problem] };
}
