/**
 * A program of Python that runs its arguments as a command on a terminal of its own, types a line at each prompt of the
 * shell, and prints what the terminal shows. It exits with the code of the command.
 */
export function typeIntoTerminal(lines: readonly string[]): string {
  return `
import json, os, pty, sys
lines = json.loads(${JSON.stringify(JSON.stringify(lines))})
def read(descriptor):
    data = os.read(descriptor, 1024)
    if lines and (b'$ ' in data or b'# ' in data):
        os.write(descriptor, (lines.pop(0) + '\\n').encode())
    return data
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], read)))
`;
}
