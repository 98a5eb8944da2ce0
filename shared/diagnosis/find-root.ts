import { type LogLine, type LogText, lineAt, toLogText } from '#shared/diagnosis/log-text.ts';
import { RULES } from '#shared/diagnosis/rules/all-rules.ts';
import type { Label } from '#shared/diagnosis/rules/labels.ts';
import type { Groups, Rule } from '#shared/diagnosis/rules/rule.ts';

/** The line of a log from which the failure follows. */
export type Root = {
  readonly label: Label;
  /** Null for an exception that no rule explains. */
  readonly rule: Rule | null;
  /** The line as printed, and the one after it if the message continues there. */
  readonly line: string;
  readonly groups: Groups;
};

/** A Python exception as the last line of a traceback, with its module, or as IPython and pytest print it. */
const EXCEPTION =
  /^'?(?:[\w.]{1,160}\.)?[A-Za-z_]{0,80}(?:Error|Exception|Interrupt|Violation|Forbidden|NotFound|Denied|Exhausted|Unavailable|TooManyRequests|Unauthorized|StopIteration|SystemExit|StackTrace|TimeoutExpired)(?:`? \(see above for traceback\))?`?(?:\(|:|\s*$|\s+Traceback)/;

/** An exception by its module, for those whose name does not say that they are one. */
const QUALIFIED_EXCEPTION =
  /^'?(?:[\w.]{0,160}\b(?:exceptions?|errors?|errors_impl|exc)\.[A-Z]\w{2,80}|\w{1,80}\.(?:error|Error|Empty|Full))(?:\(|:|\s*$)/;

/** The line that a launcher prints of a program whose own output is not in the log. */
const FAILED_EXIT =
  /\bexit(?:s|ed) with (?:a )?(?:non-zero )?(?:return |exit )?(?:code|status)(?: of)? ?[=:]? ?[12]\b|\breturned non-zero exit status [12]\b|\b[Ee]xit(?:ed)?(?: with)?(?: a)? non-zero (?:exit )?(?:status|code)\b/;

/** A statement that raises an exception. */
const RAISED = /^\s*(?:-*>?\s*\d+\s+)?raise [\w.]{1,80}(?:Error|Exception)\(/;

/** An exception behind other words, unless the line is a warning. */
const QUOTED =
  /^(?!.{0,80}\b(?:W|INFO|WARN|WARNING|DEBUG)\b).{0,300}?[\s'"(:>][\w.]{0,80}[A-Z]\w{2,60}(?:Error|Exception)(?:: |\) )\S/;

const TRACEBACK = /Traceback \(most recent call|^\s*File "[^"]{1,300}", line \d+|^-+> \d+ |❱ \d+/;

/** Exceptions of launchers and parents, which only say that a child failed. */
const FOLLOW_UP =
  /ChildFailedError|CalledProcessError|ProcessRaisedException|ProcessExitedException|SystemExit|RayTaskError|ActorDiedError|BrokenPipeError|StopIteration|TerminatedWorkerError|SubprocessError|FinalExporterError|Exception ignored/;

/** The level of a line after which a program goes on. */
const WARNING = /^.{0,80}\bWARN(?:ING)?\b/;

const CHAINED = /During handling of the above exception|was the direct cause of the following|^\s*The above exception/;

/** A line of a training that goes on. */
const PROGRESS =
  /\b[Ee]poch[:\s[(]+\d|\b(?:step|iter|iteration|batch)s?\b[:\s=[]+\d|\bloss['"]?\s?[:=]\s?[\d.]|it\/s[,\]]|s\/it[,\]]|\bETA\b|Successfully installed|^Training model|\b[Ss]kipping (?:this |the )?batch\b/;

/** The last words of a training that succeeded. */
const SUCCESS =
  /\b(?:[Tt]rain(?:ing)?|[Jj]ob) (?:has |is |was )?(?:finished|completed?|done)\b(?! with)|\b[Ff]inished training\b/;

/** Labels of which progress lines are part of the evidence, or which end a program that goes on. */
const NEVER_RECOVERED: ReadonlySet<Label> = new Set(['nan_loss', 'preempted', 'killed_timeout', 'gpu_hardware_fault']);

const MATCHES_MAX = 20;
/** A message that wraps is on two lines, or on three. */
const WRAPPED_LINES_MAX = 3;

type Match = { readonly line: number; readonly groups: Groups };

/**
 * The root of a failure in the last lines of a program: the match of the rule with the highest precedence. A match
 * before an exception that no rule explains was handled by the program, if progress or nothing of its own traceback is
 * between them. Undefined if nothing shows a failure.
 */
export function findRoot(logLines: readonly string[]): Root | undefined {
  const log = toLogText(logLines);
  const exceptions = exceptionsOf(log);
  for (const rule of RULES) {
    const match = matchRule(rule, log, exceptions);
    if (match !== undefined && !isRecovered(rule, match, log)) {
      const later = laterFailure(rule, match, log);
      if (later?.rule === null) {
        return later;
      }
      return wasHandled(match, log, exceptions) ? unexplained(log, exceptions) : toRoot(rule, match, log);
    }
  }
  return unexplained(log, exceptions);
}

/** The patterns of a rule that each match a log alone, whatever has precedence over the rule. */
export function matchingPatterns(rule: Rule, logLines: readonly string[]): readonly RegExp[] {
  const log = toLogText(logLines);
  const exceptions = exceptionsOf(log);
  return rule.patterns.filter((pattern) => matchRule({ ...rule, patterns: [pattern] }, log, exceptions) !== undefined);
}

function matchRule(rule: Rule, log: LogText, exceptions: readonly number[]): Match | undefined {
  const { scope = 'text' } = rule;
  if (scope === 'alone' && exceptions.some((line) => !FOLLOW_UP.test(log.lines[line]?.message ?? ''))) {
    return undefined;
  }
  if (scope === 'text' || scope === 'alone') {
    const matches = rule.patterns.flatMap((pattern) => matchText(pattern, rule, log) ?? []);
    return matches.length === 0 ? undefined : matches.reduce((a, b) => (b.line < a.line ? b : a));
  }
  const last = log.lines.length - 1;
  const own = exceptions.filter((line) => !FOLLOW_UP.test(log.lines[line]?.message ?? ''));
  const candidates = scope === 'line' ? [...log.lines.keys()] : scope === 'last' ? [last] : own;
  for (const line of candidates.toReversed()) {
    const raw = log.lines[line]?.raw ?? '';
    const found = rule.unless?.test(raw) ? null : execFirst(rule.patterns, messageAt(log, line));
    if (found !== null) {
      return { line, groups: found.groups ?? {} };
    }
  }
  return undefined;
}

/** The message of a line, and of those after it if it only names the exception. */
function messageAt({ lines }: LogText, line: number): string {
  const message = lines[line]?.message ?? '';
  return /^[\w.]{1,160}:\s*$/.test(message)
    ? lines
        .slice(line, line + 1 + WRAPPED_LINES_MAX)
        .map((each) => each.message.trim())
        .join(' ')
    : message;
}

function execFirst(patterns: readonly RegExp[], message: string): RegExpExecArray | null {
  for (const pattern of patterns) {
    const found = pattern.exec(message);
    if (found !== null) {
      return found;
    }
  }
  return null;
}

function matchText(plain: RegExp, rule: Rule, log: LogText): Match | undefined {
  const pattern = globalOf(plain);
  pattern.lastIndex = 0;
  for (let count = 0; count < MATCHES_MAX; count += 1) {
    const found = pattern.exec(log.text);
    if (found === null) {
      return undefined;
    }
    const line = lineAt(log, found.index);
    const end = lineAt(log, found.index + Math.max(0, found[0].length - 1));
    const isOne = end - line < WRAPPED_LINES_MAX;
    if (isOne && !rule.unless?.test(log.lines[line]?.raw ?? '')) {
      return { line, groups: found.groups ?? {} };
    }
    pattern.lastIndex = Math.max(found.index + 1, log.starts[line + 1] ?? log.text.length);
  }
  return undefined;
}

const GLOBALS = new Map<RegExp, RegExp>();

/** The same pattern with a position. */
function globalOf(pattern: RegExp): RegExp {
  const known = GLOBALS.get(pattern);
  const made = known ?? new RegExp(pattern.source, `${pattern.flags}g`);
  GLOBALS.set(pattern, made);
  return made;
}

/** Whether training went on after a message: no failure is in the log, or it succeeded after the last one. */
function isRecovered({ label }: Rule, { line }: Match, log: LogText): boolean {
  return (
    !NEVER_RECOVERED.has(label) &&
    log.lines.slice(line + 1).some(({ raw }) => PROGRESS.test(raw)) &&
    (hasSucceeded(log) || !log.lines.some(isFailure))
  );
}

function hasSucceeded({ lines }: LogText): boolean {
  const since = lines.slice(lines.findLastIndex(isFailure) + 1);
  return SUCCESS.test(since.at(-1)?.raw ?? '') && since.some(({ raw }) => PROGRESS.test(raw));
}

function isFailure({ raw, message }: LogLine): boolean {
  return TRACEBACK.test(raw) || isException(message);
}

function isException(message: string): boolean {
  return EXCEPTION.test(message) || QUALIFIED_EXCEPTION.test(message);
}

/** The exception that ended a training which had gone on after a message without a traceback. */
function laterFailure({ label }: Rule, { line }: Match, { lines }: LogText): Root | undefined {
  const begin = lines.findIndex(({ raw }) => TRACEBACK.test(raw));
  const between = lines.slice(line + 1, Math.max(0, begin));
  const after = lines.slice(begin);
  // A traceback that is cut can be of the message itself: a progress bar may be printed between them.
  return !NEVER_RECOVERED.has(label) &&
    between.some(({ raw }) => PROGRESS.test(raw)) &&
    after.some(({ message }) => isException(message))
    ? findRoot(after.map(({ raw }) => raw))
    : undefined;
}

/** If the exception itself is cut off, the statement that raised it, or a line that quotes it. */
function exceptionsOf({ lines }: LogText): readonly number[] {
  const printed = lines.flatMap(({ message }, index) => (isException(message) ? [index] : []));
  const quoted = () => lines.flatMap(({ raw }, index) => (RAISED.test(raw) || QUOTED.test(raw) ? [index] : []));
  return printed.length > 0 ? printed : quoted();
}

/**
 * Whether the match is a warning, or an exception that the program handled: a later one, which is neither chained to it
 * nor of a launcher, ended the program, and no rule explains that one.
 */
function wasHandled({ line }: Match, log: LogText, exceptions: readonly number[]): boolean {
  const last = exceptions.findLast((index) => !FOLLOW_UP.test(log.lines[index]?.message ?? ''));
  const isWarning =
    WARNING.test(log.lines[line]?.raw ?? '') && !/'NoneType' object/.test(log.lines[last ?? 0]?.raw ?? '');
  if (last === undefined || last <= line || !(isWarning || exceptions.includes(line))) {
    return false;
  }
  if (
    !isWarning &&
    log.lines.slice(line, last).some(({ raw }) => CHAINED.test(raw) || /^\[?rank ?\d|\bTraceback\b/i.test(raw))
  ) {
    return false;
  }
  return explain([log.lines[last]?.raw ?? '']) === undefined;
}

/** The first rule that matches these lines alone. */
function explain(lines: readonly string[]): Rule | undefined {
  const log = toLogText(lines);
  const exceptions = [...log.lines.keys()];
  return RULES.find((rule) => matchRule(rule, log, exceptions) !== undefined);
}

function unexplained(log: LogText, exceptions: readonly number[]): Root | undefined {
  const own = exceptions.findLast((index) => !FOLLOW_UP.test(log.lines[index]?.message ?? '')) ?? exceptions.at(-1);
  const frame = log.lines.findLastIndex(({ raw }) => TRACEBACK.test(raw));
  const exit = log.lines.findLastIndex(({ raw }) => FAILED_EXIT.test(raw));
  const line = own ?? lastWordsAfter(frame, log) ?? [frame, exit].find((index) => index !== -1);
  const wentOn = own === undefined && log.lines.slice(Math.max(frame, exit) + 1).some(({ raw }) => PROGRESS.test(raw));
  if (line === undefined || wentOn || hasSucceeded(log)) {
    return undefined;
  }
  return { label: 'user_exception', rule: null, line: log.lines[line]?.raw ?? '', groups: {} };
}

/** An exception of the program whose name does not say that it is one: what a traceback ends with. */
function lastWordsAfter(frame: number, { lines }: LogText): number | undefined {
  const index = lines.findIndex(({ raw }, at) => at > frame && /^[A-Za-z_][\w.]{0,160}(?::\s|$)/.test(raw));
  return frame === -1 || index === -1 ? undefined : index;
}

function toRoot(rule: Rule, { line, groups }: Match, { lines }: LogText): Root {
  return { label: rule.label, rule, line: lines[line]?.raw ?? '', groups };
}
