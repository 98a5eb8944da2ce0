import { findRoot, type Root } from '#shared/diagnosis/find-root.ts';
import type { JobFacts } from '#shared/diagnosis/job-facts.ts';
import { writeRemedy } from '#shared/diagnosis/remedies.ts';
import { LABELS, type Label } from '#shared/diagnosis/rules/labels.ts';
import type { CauseCode, Diagnosis } from '#shared/domain/cause.ts';
import type { ExitFacts } from '#shared/domain/exit-report.ts';

/** A diagnosis, and what the cause takes from it. */
export type Conclusion = {
  readonly diagnosis: Diagnosis;
  readonly code: CauseCode;
  /** The failure in one sentence; null if the exception says it. */
  readonly explanation: string | null;
};

/** The agent knows these reasons with certainty; they reasons need no line. */
const LABEL_OF_REASON: Partial<Readonly<Record<ExitFacts['reason'], Label>>> = {
  OUT_OF_MEMORY: 'host_oom',
  DISK_FULL: 'disk_full',
  PREEMPTED: 'preempted',
  MAX_RUNNING_TIME: 'killed_timeout',
  GPU_MISSING: 'no_gpu_visible',
  GPU_FAILED: 'gpu_hardware_fault',
  SERVICE_UNREACHABLE: 'network_error',
};

/** The failures of the other reasons are described by their own causes; the lines can say more of these. */
const REASONS_WITH_LINES: readonly ExitFacts['reason'][] = ['EXITED', 'INSTALL_FAILED', 'JOB_DIR_UNWRITABLE'];

/** Signals that say what happened, for a program that printed nothing: SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV. */
const LABEL_OF_SIGNAL: Readonly<Record<number, Label>> = {
  4: 'wrong_arch_package',
  6: 'segfault',
  7: 'segfault',
  8: 'segfault',
  11: 'segfault',
};

/** Exceptions of which the same program with the same arguments raises the same again. */
const DETERMINISTIC =
  /\b(?:KeyError|TypeError|NameError|AttributeError|IndexError|SyntaxError|IndentationError|TabError|NotImplementedError|UnboundLocalError|ZeroDivisionError|AssertionError|RecursionError|ValueError|Unicode\w+Error|ConfigAttributeError|ConfigKeyError|\w*ValidationError|JSONDecodeError|YAMLError|ScannerError|ParserError)\b/;

/** Concludes from an exit report why a program failed; undefined if nothing in it says so. */
export function diagnose(exit: ExitFacts, facts: JobFacts): Conclusion | undefined {
  const certain = LABEL_OF_REASON[exit.reason];
  if (certain !== undefined) {
    return conclude({ label: certain, rule: null, line: '', groups: {} }, exit, facts);
  }
  if (!REASONS_WITH_LINES.includes(exit.reason)) {
    return undefined;
  }
  const root = findRoot(exit.evidence) ?? rootOfSignal(exit) ?? rootOfHealth(facts);
  const isGeneric = root?.label === 'user_exception' && root.rule === null;
  const better = isGeneric ? rootOfHealth(facts) : undefined;
  return root === undefined ? undefined : conclude(better ?? root, exit, facts);
}

function rootOfSignal({ signal }: ExitFacts): Root | undefined {
  const label = signal === null ? undefined : LABEL_OF_SIGNAL[signal];
  return label === undefined ? undefined : { label, rule: null, line: '', groups: {} };
}

/** A loss that was NaN to the end explains an exception that nothing else explains. */
function rootOfHealth({ health }: JobFacts): Root | undefined {
  const finding = health.find(({ code, until }) => code === 'NON_FINITE' && until === null);
  return finding === undefined
    ? undefined
    : { label: 'nan_loss', rule: null, line: finding.evidence.at(-1) ?? '', groups: {} };
}

function conclude(root: Root, { reason, evidence, message }: ExitFacts, facts: JobFacts): Conclusion {
  const { rule, line, groups } = root;
  // A build without GPU support is no fault where there is no GPU.
  const isWithoutGpu = facts.machine?.accelerator === null && /cuda/i.test(line);
  const label = root.label === 'wrong_arch_package' && isWithoutGpu ? 'no_gpu_visible' : root.label;
  // The agent's message names the limit that it measured, and how to raise it.
  const known = reason === 'DISK_FULL' ? { ...facts, bootDiskGib: null, usage: null } : facts;
  const general = LABELS[label];
  const lines = evidence.length === 0 ? [message] : evidence;
  return {
    code: rule?.code ?? general.code,
    explanation: rule?.explain?.(groups) ?? (label === 'user_exception' || rule === null ? null : general.explanation),
    diagnosis: {
      label,
      remedy: adviseOnPaths(label, facts) + (rule?.remedy ?? writeRemedy(label, { lines, facts: known })),
      canRetryHelp: rule?.canRetryHelp ?? (isUnknown(root) ? !DETERMINISTIC.test(line) : general.canRetryHelp),
      ...(line === '' ? {} : { line }),
    },
  };
}

/** Data that a program does not find where it looks is missing, or is downloaded instead. */
function adviseOnPaths(label: Label, { warnings }: JobFacts): string {
  const found = warnings.find(({ code }) => code === 'PATH_FROM_SCRIPT');
  return found !== undefined && (label === 'not_found_data' || label === 'network_error')
    ? `${found.message} ${found.remedy} If that is not it: `
    : '';
}

/** An exception that no rule explains can be transient, unless its class says otherwise. */
function isUnknown({ label, rule }: Root): boolean {
  return label === 'user_exception' && rule === null;
}
