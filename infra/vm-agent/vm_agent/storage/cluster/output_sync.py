"""Saves the files of a job in its directory, from the master's agent: in rounds while the program runs, and at its end."""

import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Callable, Iterator, Mapping, Tuple

from vm_agent.http.retry import RetryPolicy, TransientError, backoff_delays
from vm_agent.storage.cluster.peers import Peers
from vm_agent.storage.cluster.rounds import (
    ANSWER_SECONDS_MAX,
    HURRIED_ANSWER_SECONDS_MAX,
    TORN_INTERVALS_MAX,
    Ending,
    Outcome,
    Rounds,
    Timing,
)
from vm_agent.storage.directory.job_directory import Fenced
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.output.local_files import LocalFiles, UploadTime
from vm_agent.storage.output.snapshot import Interval
from vm_agent.storage.transfer.client import SUCCESS_KEY, StorageRejected

ROUND_TRIES_MAX = 5
# The rounds of one interval, if the programs change files meanwhile.
ROUNDS_MIN = 2
# Between two of them; they are as frequent as the shortest pauses of programs require.
ROUND_DELAY_SECONDS = 0.2
# The share of the remaining time that one file may take in the final rounds: a file that cannot be uploaded must not
# keep the others from being uploaded.
FINAL_STEP_FRACTION = 0.25
# How long a pause of the other replicas is looked for after the end of the master's program, at once.
FINAL_INTERVAL_SECONDS = 2.0
# How long the other replicas' programs may take to end after the master's has succeeded, before their files are saved as
# they are; and after any other end, where a replica may be lost.
END_SECONDS_MAX, FAILED_END_SECONDS_MAX = 30.0, 5.0


class OutputSync:
    def __init__(self, files: LocalFiles, rounds: Rounds, peers: Peers) -> None:
        self.files = files
        self._rounds = rounds
        self._peers = peers
        self._torn_intervals = 0
        self._round = threading.Lock()
        self._is_finishing = threading.Event()
        self._is_due = threading.Event()
        peers.on_due = self.request_sync

    @property
    def reports(self) -> Mapping[str, int]:
        """See Rounds."""
        return self._rounds.reports

    def resume(self, manifest: Manifest) -> None:
        """See Rounds. The files know already what of it is theirs."""
        self._rounds.resume(manifest)

    def start(self, interval_seconds: float, on_fenced: Callable[[Fenced], None]) -> None:
        """Syncs at every interval until `finish`, or until a later attempt has claimed the directory."""
        self.files.clear_staging()
        self._peers.start()
        threading.Thread(target=self._run, args=(interval_seconds, on_fenced), name='output-sync', daemon=True).start()

    @contextmanager
    def ended(self) -> Iterator[None]:
        """No round runs within the block, nor later: the program has ended, and `finish` follows."""
        self._is_finishing.set()
        self._is_due.set()
        with self._round:
            yield

    def stop(self) -> None:
        """Ends the rounds and the connections."""
        self._is_finishing.set()
        self._is_due.set()
        self._peers.stop()

    def request_sync(self) -> None:
        """Starts the next round at once."""
        self._is_due.set()

    def finish(
        self, policy: RetryPolicy, was_killed: bool = False, marks: Tuple[str, ...] = ()
    ) -> Tuple[str, ...]:
        """
        Uploads everything in final rounds, until all is uploaded or `policy.seconds_max` has passed: the VM's disk is
        deleted afterwards. If a signal killed the program, files that it was writing stay in their last committed
        version. Other replicas may end meanwhile, for a limited time. The last commit has the marks (see Upload) if
        everything is uploaded. Returns why files could not be uploaded. Raises Fenced.
        """
        with self.ended():
            self.files.clear_staging()
            self._peers.start()
            give_up_at = time.monotonic() + policy.seconds_max
            ending = Ending(was_killed, SUCCESS_KEY not in marks, marks=marks)
            self._await_others(policy, ending, give_up_at)
            for delay_seconds in backoff_delays():
                problems = self._run_final(policy, ending, give_up_at)
                is_out_of_time = time.monotonic() + delay_seconds > give_up_at
                if not problems or is_out_of_time or policy.cancelled.wait(delay_seconds):
                    self._peers.say_closed()
                    return problems
                self.files.warn_once(f'The output could not be uploaded yet: {problems[0]}')
        raise AssertionError('backoff_delays never ends')

    def _await_others(self, policy: RetryPolicy, ending: Ending, give_up_at: float) -> None:
        """Saves rounds until the programs of all replicas have ended, for a limited time."""
        seconds_max = FAILED_END_SECONDS_MAX if ending.has_failed else END_SECONDS_MAX
        ended_at = time.monotonic()
        until = min(give_up_at, ended_at + seconds_max)
        while self._peers.replicas and time.monotonic() < until and not policy.cancelled.is_set():
            problems = self._run_final(policy, replace(ending, is_last=False, marks=()), give_up_at)
            is_waiting = bool(problems or self._rounds.running)
            awaits_lost = time.monotonic() - ended_at <= FAILED_END_SECONDS_MAX and bool(self._peers.find_missing())
            if not (is_waiting or awaits_lost):
                return
            self._is_due.wait(max(0.0, min(1.0, until - time.monotonic())))
            self._is_due.clear()
        if self._rounds.running:
            names = ' and '.join(sorted(self._rounds.running))
            self.files.warn_once(
                f'The program of {names} was still running {seconds_max:.0f} s after that of the master had ended: its '
                'files are saved as they are.'
            )

    def _run(self, interval_seconds: float, on_fenced: Callable[[Fenced], None]) -> None:
        policy = RetryPolicy(ROUND_TRIES_MAX, 4 * interval_seconds, self._is_finishing)
        next_at = time.monotonic() + interval_seconds
        while True:
            self._is_due.wait(max(0.0, next_at - time.monotonic()))
            if self._is_finishing.is_set():
                return
            self._is_due.clear()
            next_at = time.monotonic() + interval_seconds
            with self._round:
                try:
                    self._sync(interval_seconds, policy)
                except (TransientError, StorageRejected) as error:
                    self.files.warn_once(f'The output could not be uploaded yet: {error}')
                except Fenced as fenced:
                    on_fenced(fenced)
                    return

    def _sync(self, interval_seconds: float, policy: RetryPolicy) -> None:
        """Saves one set. While the programs change files, another round begins at once, as long as an interval."""
        started_at = time.monotonic()
        for number in count():
            timing = Timing(
                interval=Interval(interval_seconds, is_first=number == 0 or not self._peers.replicas),
                cancelled=self._is_finishing,
                upload=UploadTime(lambda: policy, self._is_finishing.is_set, stops_at_outage=True),
                commit=lambda: policy,
                is_forced=self._torn_intervals >= TORN_INTERVALS_MAX,
            )
            outcome = self._rounds.run(timing)
            for name, problem in self._rounds.problems.items():
                self.files.warn_once(f'The output could not be uploaded yet: {name}: {problem}')
            if outcome is not Outcome.CHANGED or self._is_finishing.is_set():
                self._torn_intervals = 0 if outcome is Outcome.SAVED else self._torn_intervals
                return
            has_peers = bool(self._peers.replicas)
            if number + 1 >= ROUNDS_MIN and (not has_peers or time.monotonic() - started_at > interval_seconds):
                self._torn_intervals += has_peers
                return
            self._is_finishing.wait(min(ROUND_DELAY_SECONDS, interval_seconds / 50))

    def _run_final(self, policy: RetryPolicy, ending: Ending, give_up_at: float) -> Tuple[str, ...]:
        """Returns why not everything is saved."""

        def step_policy() -> RetryPolicy:
            return replace(policy, seconds_max=FINAL_STEP_FRACTION * (give_up_at - time.monotonic()))

        answer_seconds_max = HURRIED_ANSWER_SECONDS_MAX if ending.has_failed else ANSWER_SECONDS_MAX
        for is_forced in (False, False, True):
            timing = Timing(
                interval=Interval(FINAL_INTERVAL_SECONDS),
                cancelled=policy.cancelled,
                upload=UploadTime(step_policy),
                commit=step_policy,
                answer_seconds_max=answer_seconds_max,
                # The round commits all that is uploaded by then, and a later one the rest.
                upload_seconds_max=HURRIED_ANSWER_SECONDS_MAX,
                is_forced=is_forced,
            )
            try:
                outcome = self._rounds.run(timing, ending)
            except (TransientError, StorageRejected) as error:
                return (str(error),)
            if outcome is Outcome.SAVED:
                busy = tuple(f'{replica} is still saving its files' for replica in sorted(self._rounds.busy))
                return (*busy, *(f'{name}: {problem}' for name, problem in self._rounds.problems.items()))
        return ('files kept changing',)
