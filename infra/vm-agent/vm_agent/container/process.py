"""A running container, in the form of a child process."""

import math
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, replace
from typing import Callable, List, Mapping, Optional

from vm_agent.container.engine import COMMAND, Engine
from vm_agent.container.invocation import Invocation, split_variables
from vm_agent.container.not_started import START_LINES_MAX, describe_failure
from vm_agent.logs.mask import Mask
from vm_agent.logs.output_pump import Forward, OutputPump
from vm_agent.program.exit_report import ReplicaEnded
from vm_agent.program.held_parents import hold_parents
from vm_agent.program.memory import count_machine_memory_kills
from vm_agent.program.processes import kill_remaining, send
from vm_agent.setup.environment import VM_MARKER

START_POLL_SECONDS = 0.05
SIGNAL_SECONDS_MAX = 10.0
# An engine may create the container even if its command was killed, and then nothing would remove it.
STOPPED_CREATION_SECONDS_MAX = 20.0
PIPE_SECONDS_MAX = 5.0
# For an engine that is restarted while the container runs.
ENGINE_SECONDS_MAX = 60.0
ENGINE_POLL_SECONDS = 1.0
# Shells and init processes report the signal that ended the program as 128 + its number.
SIGNAL_EXIT_CODE = 128
# Their default action does not end a process (signal(7)).
HARMLESS_SIGNALS = {'SIGCHLD', 'SIGCONT', 'SIGSTOP', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU', 'SIGURG', 'SIGWINCH'}
ENDING_SIGNALS = {int(member) for member in signal.Signals if member.name not in HARMLESS_SIGNALS}
NEVER = '0001-01-01'


@dataclass(frozen=True)
class Hooks:
    before_start: Callable[[], None] = lambda: None
    """Called when the container has been created."""
    before_removal: Callable[[], None] = lambda: None
    """Called when the container has ended, while its files are still there."""


class ContainerProcess:
    """
    See ChildProcess, whose interface this is. Started when the constructor returns, which raises ReplicaEnded with
    CONTAINER_NOT_STARTED. The engine's command only carries the output: that it is killed does not end the container.
    """

    def __init__(
        self,
        engine: Engine,
        invocation: Invocation,
        mask: Mask,
        *,
        on_output: Forward,
        on_exit: Callable[[], None],
        check: Callable[[], None],
        hooks: Hooks = Hooks(),
        stopped_creation_seconds_max: float = STOPPED_CREATION_SECONDS_MAX,
    ) -> None:
        """
        `check` raises ReplicaEnded if a stop was requested: until the container has started, nothing else ends it, and
        it counts more than any failure, which it may have caused. `stopped_creation_seconds_max` is how long a stop
        waits for the engine to create the container, which is then removed.
        """
        self._engine, self._invocation, self._check = engine, invocation, check
        self._hooks = hooks
        self._kills_before = count_machine_memory_kills()
        self._exited = threading.Event()
        self._return_code = 0
        self._oom_killed = False
        self._start_lines: List[str] = []
        self._on_output = on_output
        self.pid = 0
        """The first process of the container, which leads its session, as the machine numbers it."""
        arguments, environment, text = split_variables(engine, invocation.variables)
        create = ['create', *invocation.arguments(), *arguments, invocation.image, *invocation.argv[1:]]
        creating = replace(engine, environment=environment, check=_delayed(check, stopped_creation_seconds_max))
        try:
            created = creating.run_tool(create, stdin=text)
            check()
            if not created.is_success:
                raise ReplicaEnded(describe_failure(invocation, [mask(line) for line in created.stderr.splitlines()]))
            hooks.before_start()
        except ReplicaEnded:
            engine.remove_containers(invocation.vm)
            raise
        self._output = OutputPump(mask, self._forward)
        self._client = self._attach(['start', '--attach', invocation.name])
        try:
            state = self._await_start(replace(engine, check=check))
        except ReplicaEnded:
            self._client.kill()
            self._client.wait()
            self.clean_up()
            raise
        self.pid = int(str(state.get('Pid') or 0))
        threading.Thread(target=self._wait, args=(on_exit,), name='container-wait', daemon=True).start()

    @property
    def return_code(self) -> Optional[int]:
        """The exit code as in subprocess: negative for a signal; None while it runs."""
        return self._return_code if self._exited.is_set() else None

    def was_out_of_memory(self) -> bool:
        """The engine knows the kills in its own limit; the machine's counter has those in all control groups."""
        return self._oom_killed or count_machine_memory_kills() > self._kills_before

    def send_signal(self, number: signal.Signals) -> None:
        """To the init process, which passes it on, and by SIGKILL to the whole container."""
        # An engine that does not answer cannot keep a container alive.
        if number == signal.SIGKILL and self.pid > 0 and send(self.pid, number):
            return
        if number == signal.SIGTERM and self.pid > 0:
            hold_parents(self.pid, is_init=True)
        self._engine.run_tool(['kill', '--signal', number.name, self._invocation.name], seconds_max=SIGNAL_SECONDS_MAX)

    def clean_up(self) -> int:
        """Removes the container and all of its processes, and reads the rest of the output."""
        self._hooks.before_removal()
        self._engine.remove_containers(self._invocation.vm)
        count = kill_remaining(self._client.pid, f'{VM_MARKER}={self._invocation.vm}'.encode())
        self._output.finish(PIPE_SECONDS_MAX)
        return count

    def _attach(self, args: List[str]) -> 'subprocess.Popen[bytes]':
        client = subprocess.Popen(
            [COMMAND, *args],
            cwd=self._engine.folder,
            env={**self._engine.environment, VM_MARKER: self._invocation.vm},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._output.add('stdout', client.stdout)
        self._output.add('stderr', client.stderr)
        return client

    def _forward(self, stream: str, block: bytes) -> None:
        if stream == 'stderr' and len(self._start_lines) < START_LINES_MAX:
            self._start_lines += block.decode('utf-8', 'replace').splitlines()[:START_LINES_MAX]
        self._on_output(stream, block)

    def _await_start(self, engine: Engine) -> Mapping[str, object]:
        """Returns the state of the started container, which may have ended already. Raises ReplicaEnded."""
        while True:
            has_ended = self._client.poll() is not None
            state = self._read_state(engine)
            if state is not None and not str(state.get('StartedAt', NEVER)).startswith(NEVER):
                return state
            self._check()
            if has_ended:
                # Its messages are in `_start_lines` then.
                self._output.finish(PIPE_SECONDS_MAX)
                raise ReplicaEnded(describe_failure(self._invocation, self._start_lines))
            time.sleep(START_POLL_SECONDS)

    def _read_state(self, engine: Optional[Engine] = None) -> Optional[Mapping[str, object]]:
        found = (engine or self._engine).inspect(self._invocation.name)
        return None if found is None else dict(found['State'])

    def _wait(self, on_exit: Callable[[], None]) -> None:
        while True:
            self._client.wait()
            state = self._await_state()
            if state is None or not state.get('Running'):
                break
            # Only the command has ended, not the container.
            time.sleep(ENGINE_POLL_SECONDS)
            self._client = self._attach(['attach', '--no-stdin', '--sig-proxy=false', self._invocation.name])
        code = SIGNAL_EXIT_CODE + signal.SIGKILL if state is None else int(str(state.get('ExitCode')))
        self._oom_killed = state is not None and bool(state.get('OOMKilled'))
        self._return_code = to_return_code(code)
        self._exited.set()
        on_exit()

    def _await_state(self) -> Optional[Mapping[str, object]]:
        """Returns None if the engine no longer knows the container, or does not answer for ENGINE_SECONDS_MAX."""
        give_up_at = time.monotonic() + ENGINE_SECONDS_MAX
        while True:
            state = self._read_state()
            if state is not None or time.monotonic() > give_up_at or self._engine.is_answering():
                return state
            time.sleep(ENGINE_POLL_SECONDS)


def _delayed(check: Callable[[], None], seconds: float) -> Callable[[], None]:
    """Returns a check that raises what `check` raises, but not in the first seconds after it was raised first."""
    raise_at = math.inf

    def delayed() -> None:
        nonlocal raise_at
        try:
            check()
        except ReplicaEnded:
            raise_at = min(raise_at, time.monotonic() + seconds)
            if time.monotonic() >= raise_at:
                raise

    return delayed


def to_return_code(exit_code: int) -> int:
    """
    Returns the exit code as subprocess does: a signal is negative. A program that exits with such a code by itself, as
    shells do for their children, cannot be told apart: the engine's state of the container has the code alone.
    """
    number = exit_code - SIGNAL_EXIT_CODE
    return -number if number in ENDING_SIGNALS else exit_code
