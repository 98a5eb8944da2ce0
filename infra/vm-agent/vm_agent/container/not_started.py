"""Why an engine could not start a container, and what changes that."""

import re
from typing import Optional, Sequence, Tuple

from vm_agent.container.invocation import Invocation
from vm_agent.program.exit_report import ExitReport

START_LINES_MAX = 20
SHELLS = ('sh', 'bash', 'ash', 'dash', 'zsh')
# The lines that tini prints if it cannot run the program, and runc if it cannot run tini, with these exit codes.
INIT_FAILED = re.compile(r'\[FATAL tini \(\d+\)\] exec .* failed: |exec \S+: argument list too long')
INIT_EXIT_CODES = (1, 126, 127)

NOT_FOUND = (
    'The command `{0}` was not found in the image. Correct the command (or ENTRYPOINT and CMD of the image), and give '
    'its full path if it is not on the PATH of the image.'
)
# By the first pattern that fits, the message and what to do. `{0}` is the command, `{1}` the user.
FAILURES: Sequence[Tuple[str, str]] = (
    (
        r'argument list too long',
        'The arguments and variables of the program, with those of its image, are longer than Linux accepts: 128 KiB '
        'each, 2 MiB in total. Shorten them, or keep long values in a file.',
    ),
    (
        r"environment variable name can't be empty",
        'The image has a variable without a name. Correct its ENV; the evidence shows the variable.',
    ),
    (
        r'exec format error',
        'The command `{0}` of the image is not a program for this machine. Build the image for linux/amd64, and begin '
        'a script with a line such as #!/bin/sh.',
    ),
    (
        r'not a directory|cannot be mounted because',
        'The image has a file or a link where its container needs a folder: its WORKDIR, or a folder of Dropforge '
        '(/dropforge, /gcs). Correct the image; the evidence names the path.',
    ),
    (
        r'error closing exec fds|error reopening /dev/null',
        'The image has no /dev and /proc in its container, as one that declares its whole file system as a VOLUME. '
        'Remove VOLUME / from its Dockerfile.',
    ),
    (r'executable file not found|no such file or directory', NOT_FOUND),
    (
        r'permission denied',
        'The command `{0}` may not be executed by the user of the image. Make it executable (chmod +x) in the image.',
    ),
    (
        r'unable to find (?:user|group)|no matching entries in (?:passwd|group)',
        'The image has no user {1}, by which it is run. Create the user in the image, or give its number (USER).',
    ),
    (
        r'could not select device driver|nvidia-container|unresolvable CDI|nvidia\.com/gpu',
        'The engine cannot give the GPUs of the machine to a container. Install the NVIDIA Container Toolkit in the '
        'machine image (docs/containers.md).',
    ),
)
NO_SHELL = (
    'The image has no shell `{0}`. Use one that it has (many small images have only sh), or give the program and its '
    'arguments as a list, without a shell.'
)
DISK_FULL = re.compile(r'no space left on device', re.IGNORECASE)


def describe_failure(invocation: Invocation, lines: Sequence[str]) -> ExitReport:
    """Returns the report on a container that the engine, or its init process, could not start."""
    text, command = '\n'.join(lines), invocation.argv[0]
    if DISK_FULL.search(text):
        return ExitReport('DISK_FULL', 'No space was left on the disk to start the container.', evidence=tuple(lines))
    sentence = next((found for pattern, found in FAILURES if re.search(pattern, text, re.IGNORECASE)), None)
    if command.rsplit('/', 1)[-1] in SHELLS and sentence == NOT_FOUND:
        sentence = NO_SHELL
    if sentence is None:
        sentence = 'The container engine could not start the container; the evidence has its answer.'
    message = sentence.replace('{0}', command).replace('{1}', invocation.user or 'as the image names it')
    return ExitReport('CONTAINER_NOT_STARTED', message, evidence=tuple(lines[-START_LINES_MAX:]))


def find_init_failure(invocation: Invocation, return_code: int, lines: Sequence[str]) -> Optional[ExitReport]:
    """Returns the report if the program did not start in a container that did; None if the exit code is its own."""
    failed = [line for line in lines if INIT_FAILED.match(line)]
    return describe_failure(invocation, failed) if return_code in INIT_EXIT_CODES and failed else None
