import type { WriteStream } from 'node:tty';
import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';

/** Name and summary of a command, and what loads its implementation. */
export type CommandEntry = {
  readonly name: string;
  readonly summary: string;
  /** Title of a section of the help that begins with this command. */
  readonly section?: string;
  readonly load: () => Promise<Command>;
};

/** A command as data. Its name and summary are in the command table (cli/commands.ts). */
export type Command = {
  readonly operands: readonly Operand[];
  readonly flags: readonly Flag[];
  /** Describes the arguments after `--`. If undefined, arguments after `--` are a usage error. */
  readonly rest?: string;
  /** Says where an operand belongs that is one too many; operands that may be secret are then not repeated. */
  readonly excess?: string;
  /** The words after the name of the command in the example of its help (default: an operand of each name). */
  readonly example?: string;
  /** Additional help text, printed below the flags. */
  readonly notes?: string;
  readonly run: (invocation: Invocation) => Promise<ExitCode>;
};

export type Operand = {
  /** In capitals, as printed in the help. */
  readonly name: string;
  readonly summary: string;
  /** `many`: one or more, `any`: none or more; both must be the last operand. */
  readonly count: 'one' | 'optional' | 'many' | 'any';
  /** The values that a shell completes. */
  readonly choices?: readonly string[];
};

export type Flag = {
  /** Without the leading dashes. */
  readonly name: string;
  readonly letter?: string;
  readonly summary: string;
  /** Placeholder for the value in the help; a flag without one is a switch. */
  readonly value?: string;
  /** The values that a shell completes. */
  readonly choices?: readonly string[];
  /** Whether the value may be omitted; the flag is then `true`. */
  readonly isValueOptional?: boolean;
  /** Whether all occurrences are collected; otherwise the last one wins. */
  readonly isRepeatable?: boolean;
};

/** A flag, by its name and the placeholder of its value: `region REGION`. */
export function defineFlag(usage: string, summary: string, others: Partial<Flag> = {}): Flag {
  const [name = '', value] = usage.split(' ');
  return { name, ...(value !== undefined && { value }), summary, ...others };
}

/** 0: success; 1: the command or the job failed; 2: usage error. Of `exec`, the exit code of the command in the VM. */
export type ExitCode = number;

/** Flags, with their dashes, and the command line that has them before `--`. */
export type Misplaced = { readonly names: readonly string[]; readonly corrected: string };

/** One call of a command, with all of its inputs and outputs. */
export type Invocation = {
  readonly io: Io;
  readonly operands: readonly string[];
  readonly rest: readonly string[];
  /** Flags of the command that stand behind `--`. */
  readonly misplaced: Misplaced | undefined;
  /** The flag's value, `true` for a switch, undefined if the flag is not set. */
  readonly flag: (name: string) => string | undefined;
  /** All values of a repeatable flag. */
  readonly flags: (name: string) => readonly string[];
  readonly isSet: (name: string) => boolean;
  /** Writes a result in the format selected by `--format`: the text, or a rendering of the JSON. */
  readonly print: (result: { readonly json: unknown; readonly text: string }) => void;
  /** Whether results are machine-readable: any format other than text. */
  readonly isJson: boolean;
  /** From `--data-dir` or DROPFORGE_DATA_DIR. */
  readonly dataDir: string | undefined;
  /** Path of a file that describes a deployment on Google Cloud, from `--deployment` or DROPFORGE_DEPLOYMENT. */
  readonly deployment: string | undefined;
};

export type Io = {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly openStdin: () => AsyncIterable<Uint8Array>;
  readonly cwd: string;
  readonly dataDir: string | undefined;
  readonly deployment: string | undefined;
  /** This user's directory for state of programs, where running embedded clouds are recorded. */
  readonly stateDir: string;
  /** Aborted on SIGINT, SIGTERM and SIGHUP and, for commands that started an embedded cloud, when stdout is closed. */
  readonly interrupted: AbortSignal;
  readonly startCloud: StartCloud;
  /** Whether this machine has a container engine that its embedded cloud would use. */
  readonly hasContainerEngine: () => Promise<boolean>;
};

export type Output = {
  write(data: string | Uint8Array): void;
  /** Null if the output is a pipe or a file. */
  readonly terminal: WriteStream | null;
  readonly hasColors: boolean;
};

export type StartCloud = (options: {
  readonly dataDir: string;
  readonly ports?: { readonly api?: number; readonly storage?: number } | undefined;
  readonly configFile?: string;
  readonly writeLog: (line: string) => void;
}) => Promise<{ readonly endpoints: Endpoints; stop(): Promise<void> }>;
