let selected: string | undefined;

/** Records which cloud the command talks to, for its errors; undefined at the start of a command. */
export function selectCloud(name: string | undefined): void {
  selected = name;
}

/** The cloud that the command has talked to, such as `embedded cloud on /home/me/.dropforge`. */
export function selectedCloud(): string | undefined {
  return selected;
}
