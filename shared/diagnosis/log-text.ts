/** Lines that are evaluated, the newest if there are more. An exit report has at most 40. */
export const LINES_MAX = 200;
/** The beginning and the end of a longer line are evaluated: an error says what at one of them. */
export const LINE_CHARACTERS_MAX = 1_200;
const LINE_END_CHARACTERS = 300;

/** One line of a log that is evaluated. */
export type LogLine = {
  /** The line as printed, truncated. */
  readonly raw: string;
  /** Without terminal escapes, text that was overwritten, and prefixes of ranks, launchers, clocks and log levels. */
  readonly message: string;
};

/** The lines as one text, because logs wrap: each line end is one space. */
export type LogText = {
  readonly lines: readonly LogLine[];
  readonly text: string;
  /** Where each line begins in `text`. */
  readonly starts: readonly number[];
};

/** The escape sequences of ECMA-48 (colors, cursor), and of xterm (titles). */
const ESCAPES = new RegExp(
  String.raw`${String.fromCharCode(27)}(?:\[[0-9;?]{0,40}[ -/]?[@-~]|\][^${String.fromCharCode(7, 27)}]{0,200}${String.fromCharCode(7)}?|[@-Z\\-_])`,
  'g',
);

/** Prefixes, each of which may follow another; anchored, so that their cost does not depend on the line. */
const PREFIXES: readonly RegExp[] = [
  /^\[?rank ?\d+\]?:\s?/i,
  /^\[\d+(?:,\d+)?\](?:<std(?:out|err)>)?:?\s/,
  /^\d{1,4}: (?=\S)/,
  /^\((?:\w+ )?(?:\S+ )?pid=\d+(?:, ip=[\d.]+)?\)\s?/,
  /^Step #\d+(?: - "[^"]{1,100}")?: /,
  /^[│┃|>]\s{0,3}/,
  /^\S{1,80}-algo-\d+-\w{1,20} \| /,
  /^[\w.-]{1,80}\s+\| (?=\S)/,
  /^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| UTC|[+-]\d\d:?\d\d)?\]?:?\s*/,
  /^\[?\d{1,2}[/:]\d{2}[/: ]\S{0,24}\]?:?\s+(?=\S)/,
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}/,
  /^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d \S{1,64} (?=\S)/,
  /^(?:std(?:out|err) [FP] )/,
  /^kernel: ?/,
  /^\[\s{0,12}\d{1,9}\.\d{1,9}\] ?/,
  /^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ \S{1,80}\] /,
  /^[IWEF] \S{1,200}\.(?:cc|cpp|h|py):\d+\] /,
  /^(?:INFO|WARNING|ERROR|CRITICAL|FATAL|DEBUG)(?::[\w.]{1,60})?: ?/,
  /^\[(?:INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|DEBUG)\]:? ?/,
  /^E\s{3}/,
];
const PREFIXES_MAX = 6;

/**
 * Lines that look like errors and are not: notices of frameworks that go on, and settings that name an error. They are
 * left out before any rule is applied.
 */
const HARMLESS: readonly RegExp[] = [
  /Could not load dynamic library|Ignore above cudart dlerror|Unable to register cu|Could not find TensorRT|TF-TRT Warning/,
  /falling back to (?:single GPU|a single)|\(Dry Run Mode\)|No module named '(?:google\.appengine|triton|flash_attn)'|no module 'xformers'/i,
  /pip's dependency resolver does not currently|which is not installed\.|which is incompatible\.|may experience errors when installing/,
  /logging before flag\.Parse|google-dockercfg|ALREADY_EXISTS|policy-rc\.d denied|is not supported on the TPU\. Execution will fail if/,
  /NCCL INFO|\(DEBUG INFO\)|this (?:does not indicate|is not) an error|Local rendezvous is aborting with status: OUT_OF_RANGE/,
  /caller indicates that this is not a failure|Error occurred when finalizing GeneratorDataset|exceeds 10% of (?:free )?system memory/,
  /(?<!Error: )Unable to initialize backend|application has authenticated using end user credentials|was specified in DDP constructor/,
  /wandb: .{0,40}entering retry loop|To avoid this warning|\bretrying with (?:a )?(?:smaller )?batch size/,
  /may be due to a preemption|process group has NOT been destroyed|None of the following (?:backends|libraries)/,
  /^\s*\d+(?:\/\d+)?\s+\d+\.\d{3}\s+\d+\.\d{3}\s/,
  /^(?:Namespace|usage: Namespace)\(|Gradient overflow|OVERFLOW!|Could not create logging file|found to be non-existent|\bTrial \d+ (?:failed|pruned)|ran out of memory, (?:retrying|skipping)/,
  /^(?:I|\S{0,80}:? I) (?:tensorflow|external)\/|\d: I (?:tensorflow|external)\//,
  /(?:User|Future|Deprecation|Runtime|Convergence|UndefinedMetric|Resource|Pending\w+)Warning: (?!\s*$|.{0,80}(?:is not compatible with the current PyTorch|CUDA initialization))/,
  /\bclass(?:es)? .{0,60}\bmay\b.{0,40}error|Operation of type Placeholder|Statistics generation doesn't work/,
];

/** The line that Python prints of an exception that it ignores, and TensorFlow of an object: a traceback follows. */
const IGNORED_TRACEBACK = /^Exception ignored (?:in|on)\b|^--- Logging error ---|^Object was never used \(type/;
const TRACEBACK_LINE =
  /^\s|^Traceback \(|^File "|^<|^If you want to mark|^It was originally|^Call stack:|^Message: |^Arguments: /;

/** The lines without tracebacks of exceptions that end nothing, and without the exceptions themselves. */
function withoutIgnored(lines: readonly LogLine[]): readonly LogLine[] {
  let isInside = false;
  return lines.filter(({ raw, message }) => {
    const begins = IGNORED_TRACEBACK.test(message);
    const isEnd = isInside && /^(?:\w+\.)*\w*(?:Error|Exception|Warning|Interrupt)\b/.test(message);
    const isDropped = begins || isEnd || (isInside && TRACEBACK_LINE.test(raw));
    isInside = begins || (isInside && isDropped && !isEnd);
    return !isDropped;
  });
}

/** Cuts and cleans the newest lines of a log; its cost is linear in the number of characters. */
export function toLogText(logLines: readonly string[]): LogText {
  const newest = logLines.slice(-LINES_MAX).flatMap(toLines).slice(-LINES_MAX);
  const lines = withoutIgnored(newest).filter(
    ({ raw, message }) => message.trim() !== '' && !HARMLESS.some((each) => each.test(raw)),
  );
  const starts: number[] = [];
  let text = '';
  for (const { raw } of lines) {
    starts.push(text.length);
    text += `${raw.trim().replaceAll(/\s+/g, ' ')} `;
  }
  return { lines, text, starts };
}

/** Which line has this position of the text. */
export function lineAt({ starts }: LogText, position: number): number {
  const next = starts.findIndex((start) => start > position);
  return next === -1 ? starts.length - 1 : next - 1;
}

function toLines(text: string): readonly LogLine[] {
  // If a line holds a whole log, its end is the newest.
  return lastLines(text).map((line) => {
    const raw = shorten(lastState(line.replaceAll(ESCAPES, '')));
    return { raw, message: withoutPrefixes(raw) };
  });
}

/** The newest lines of a text. One that is very long does not push out those before it. */
function lastLines(text: string): readonly string[] {
  const lines: string[] = [];
  for (let end = text.length; end >= 0 && lines.length < LINES_MAX; ) {
    const begin = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1;
    lines.push(text.slice(begin, end));
    end = begin - 1;
  }
  return lines.reverse();
}

/** The text that a terminal shows of a line in which carriage returns overwrite a progress bar. */
function lastState(line: string): string {
  const end = line.endsWith('\r') ? line.slice(0, -1) : line;
  return end.slice(end.lastIndexOf('\r') + 1);
}

function shorten(line: string): string {
  return line.length <= LINE_CHARACTERS_MAX
    ? line
    : `${line.slice(0, LINE_CHARACTERS_MAX - LINE_END_CHARACTERS)} … ${line.slice(-LINE_END_CHARACTERS)}`;
}

function withoutPrefixes(line: string): string {
  let rest = line.trimStart();
  for (let count = 0; count < PREFIXES_MAX; count += 1) {
    const before = rest;
    for (const prefix of PREFIXES) {
      rest = rest.replace(prefix, '').trimStart();
    }
    if (rest === before) {
      return rest;
    }
  }
  return rest;
}
