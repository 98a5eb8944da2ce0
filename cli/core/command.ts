import type { WriteStream } from 'node:tty';
import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';

/** A command is data: what it takes and what it does. Its name and summary stand in the table of all commands. */
export type Command = {
  readonly operands: readonly Operand[];
  readonly flags: readonly Flag[];
  /** What the words after `--` are for; without it there may be none. */
  readonly rest?: string;
  /** What the summary cannot say: shown below the flags. */
  readonly notes?: string;
  readonly run: (invocation: Invocation) => Promise<ExitCode>;
};

export type Operand = {
  /** In capitals, as it is shown. */
  readonly name: string;
  readonly summary: string;
  /** `many`: one or more, and the last operand. */
  readonly count: 'one' | 'optional' | 'many';
};

export type Flag = {
  /** Without the dashes. */
  readonly name: string;
  readonly letter?: string;
  readonly summary: string;
  /** What stands for the value in the help; a flag without one is a switch. */
  readonly value?: string;
  readonly choices?: readonly string[];
  /** Whether the value may be left out: the flag is then `true`. */
  readonly isValueOptional?: boolean;
  /** Whether it may be given several times, and each time counts; otherwise the last one does. */
  readonly isRepeatable?: boolean;
};

/** 0: done; 1: failed, or the job did; 2: the command line was wrong. */
export type ExitCode = 0 | 1 | 2;

/** One call of a command, with everything from outside that it may use. */
export type Invocation = {
  readonly io: Io;
  readonly operands: readonly string[];
  readonly rest: readonly string[];
  /** The value of a flag, or `true` for a switch that is given; undefined when it is not. */
  readonly flag: (name: string) => string | undefined;
  /** Every value of a flag that may be given several times. */
  readonly flags: (name: string) => readonly string[];
  readonly isSet: (name: string) => boolean;
  /** Writes a result in the form that `--format` names: the text, or what it says of the JSON. */
  readonly print: (result: { readonly json: unknown; readonly text: string }) => void;
  /** Whether results are for a program, in whatever form. */
  readonly isJson: boolean;
  /** The data directory that was named, by flag or environment. */
  readonly dataDir: string | undefined;
  /** The file that describes a deployment on Google Cloud, which was named by flag or environment. */
  readonly deployment: string | undefined;
};

export type Io = {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly openStdin: () => AsyncIterable<Uint8Array>;
  readonly cwd: string;
  readonly dataDir: string | undefined;
  readonly deployment: string | undefined;
  /** Ctrl-C, SIGTERM, the end of the terminal, or of the pipe that a cloud's command writes into. */
  readonly interrupted: AbortSignal;
  readonly startCloud: StartCloud;
};

export type Output = {
  write(data: string | Uint8Array): void;
  /** Null where the output is a pipe or a file. */
  readonly terminal: WriteStream | null;
  readonly hasColours: boolean;
};

export type StartCloud = (options: {
  readonly dataDir: string;
  readonly ports?: { readonly api?: number; readonly storage?: number } | undefined;
  readonly configFile?: string;
  readonly writeLog: (line: string) => void;
}) => Promise<{ readonly endpoints: Endpoints; stop(): Promise<void> }>;
