"""The files of a replica that is not the master: its agent answers the master's, which commits them with all others."""

import queue
import threading
import time
from contextlib import contextmanager
from typing import Callable, Dict, Iterator, Mapping, Optional, Tuple

from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.storage.cluster.channel import Channel, ChannelClosed, Message, MessageTooLarge, connect
from vm_agent.storage.cluster.messages import (
    CLOSED,
    COMMITTED,
    CONFIRM,
    DUE,
    HELLO,
    PREPARE,
    UPLOAD,
    decode_objects,
    encode_uploaded,
    encode_view,
    final_sets_max,
)
from vm_agent.storage.cluster.output_sync import ROUND_TRIES_MAX
from vm_agent.storage.cluster.set_warnings import ALLOW_TCP
from vm_agent.storage.directory.job_directory import Fenced, JobDirectory
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.directory.object_names import own_names, replica_name_of
from vm_agent.storage.output.local_files import LocalFiles, Uploaded, UploadTime
from vm_agent.storage.output.snapshot import Interval, Snapshot
from vm_agent.storage.transfer.client import SUCCESS_KEY, ObjectInfo, StorageRejected

CONNECT_DELAY_SECONDS = 2.0
# Without a connection for so long, a warning says so.
WARN_SECONDS = 120.0
# At its end, how long a replica awaits a master that it is not connected to: usually, that is lost.
ABSENT_SECONDS_MAX = 5.0
# How long a failed program's files await a set: the cluster cannot end, or continue, before its exit is reported.
FAILED_SECONDS_MAX = 15.0


class Member:
    def __init__(self, directory: JobDirectory, files: LocalFiles, address: str, secret: Callable[[], str]) -> None:
        """`address` is that of the master's agent, host:port. `secret` returns that of the attempt; empty if unknown."""
        self.files = files
        self.reports: Mapping[str, int] = {}
        """Only the master's metrics are those of a trial."""
        self._directory = directory
        directory.is_shared = True
        self._address = address
        self._secret = secret
        self._on_fenced: Callable[[Fenced], None] = lambda fenced: None
        self._channel: Optional[Channel] = None
        self._last_contact_at = time.monotonic()
        self._snapshot: Optional[Snapshot] = None
        self._was_killed, self._has_failed = False, False
        self._final_sets = 0
        """Sets that were committed since the program's end."""
        self._is_uploading = False
        self._superseded = threading.Event()
        """The round whose snapshot is looked for is over."""
        self._round = threading.Lock()
        self._is_started = False
        self._is_finishing = threading.Event()
        self._is_over = threading.Event()
        """Set when everything is committed, or nothing more can be."""

    def resume(self, _manifest: Manifest) -> None:
        """The master's agent alone knows the whole set."""

    def start(self, _interval_seconds: float, on_fenced: Callable[[Fenced], None]) -> None:
        """Answers the master's agent until `finish`, or until a later attempt has claimed the directory."""
        self.files.clear_staging()
        self._on_fenced = on_fenced
        self._start_thread()

    def _start_thread(self) -> None:
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._run, name='output-member', daemon=True).start()

    @contextmanager
    def ended(self) -> Iterator[None]:
        """See OutputSync.ended."""
        self._is_finishing.set()
        self._superseded.set()
        with self._round:
            yield

    def stop(self) -> None:
        """Ends the connection."""
        self._is_over.set()
        channel = self._channel
        if channel is not None:
            channel.close()

    def request_sync(self) -> None:
        """Asks the master's agent for a round at once."""
        channel = self._channel
        if channel is not None:
            try:
                channel.send({'kind': DUE})
            except ChannelClosed:
                # The next connection begins with a round.
                pass

    def finish(self, policy: RetryPolicy, was_killed: bool = False, marks: Tuple[str, ...] = ()) -> Tuple[str, ...]:
        """
        Returns when the master has committed the files of the ended program, or cannot. A file that is not committed is
        uploaded under a name of its own, so that it is not lost with the VM. Without the mark of a success, the program
        has failed. See OutputSync.finish.
        """
        with self.ended():
            self._was_killed, self._has_failed = was_killed, SUCCESS_KEY not in marks
            # A round that has begun is repeated.
            self._snapshot = None
            self.files.clear_staging()
        self._start_thread()
        self.request_sync()
        ended_at = self._last_contact_at = time.monotonic()
        give_up_at = ended_at + policy.seconds_max
        while time.monotonic() < give_up_at and not policy.cancelled.is_set():
            if self._is_over.wait(1.0):
                break
            if self._channel is None and time.monotonic() - self._last_contact_at > ABSENT_SECONDS_MAX:
                break
            is_late = self._has_failed and time.monotonic() - ended_at > FAILED_SECONDS_MAX
            if is_late and not self._is_uploading:
                break
        self.stop()
        with self._round:
            return self._upload_rest(policy)

    def _upload_rest(self, policy: RetryPolicy) -> Tuple[str, ...]:
        snapshot = self.files.take_final(self._was_killed)
        missing = [name for name, info in self.files.view(snapshot).own.items() if info is None]
        if not missing:
            return ()
        folder = replica_name_of(self.files.replica, '')
        targets = {name: replica_name_of(self.files.replica, name) for name in missing}
        uploaded = self.files.upload(snapshot, targets, UploadTime(lambda: policy))
        self.files.warn_unsaved(
            f'{len(uploaded.stored)} files of {self.files.replica} could not be committed with those of the other '
            'replicas, and no attempt restores them.',
            f'They are in {folder} of the job directory.',
        )
        return tuple(f'{name}: {problem}' for name, problem in uploaded.failed.items())

    def _run(self) -> None:
        host, _, port = self._address.rpartition(':')
        while not self._is_over.is_set():
            secret = self._secret()
            try:
                if not secret:
                    raise ChannelClosed('the control plane has sent no secret for it')
                channel = connect(host, int(port), secret)
                self._serve(channel)
            except ChannelClosed as closed:
                self._warn_if_long(str(closed))
            except Fenced as fenced:
                self._is_over.set()
                self._on_fenced(fenced)
                return
            self._is_over.wait(CONNECT_DELAY_SECONDS)

    def _warn_if_long(self, why: str) -> None:
        if time.monotonic() - self._last_contact_at > WARN_SECONDS and not self._is_finishing.is_set():
            self.files.warn_unsaved(
                f'The agent of the master cannot be reached at {self._address}: what {self.files.replica} writes is not '
                f'saved ({why}).',
                ALLOW_TCP,
            )

    def _serve(self, channel: Channel) -> None:
        try:
            channel.send({'kind': HELLO, 'replica': self.files.replica})
            self._channel = channel
            inbox: 'queue.SimpleQueue[Optional[Message]]' = queue.SimpleQueue()
            threading.Thread(target=self._receive, args=(channel, inbox), name='output-inbox', daemon=True).start()
            while (message := inbox.get()) is not None:
                with self._round:
                    if inbox.empty() and not self._is_finishing.is_set():
                        self._superseded.clear()
                    answer = self._answer(message)
                if answer is not None:
                    self._send(channel, {**answer, 'number': message.get('number')})
            raise ChannelClosed('the master has closed the connection')
        finally:
            self._channel = None
            self._last_contact_at = time.monotonic()
            channel.close()

    def _send(self, channel: Channel, answer: Message) -> None:
        try:
            channel.send(answer)
        except MessageTooLarge as large:
            self.files.warn_unsaved(
                f'{self.files.replica} has too many files to save them with those of the other replicas: {large}.',
                'Choose files with outputs: in the job file.',
            )
            channel.send({'busy': True, 'number': answer['number']})

    def _receive(self, channel: Channel, inbox: 'queue.SimpleQueue[Optional[Message]]') -> None:
        """Receives messages while earlier ones are handled: a new round ends what was done for the one before."""
        try:
            while True:
                message = channel.receive()
                if message.get('kind') == PREPARE and self._is_uploading:
                    channel.send({'busy': True, 'number': message.get('number')})
                    continue
                inbox.put(message)
                self._superseded.set()
        except ChannelClosed:
            self._superseded.set()
            inbox.put(None)

    def _answer(self, message: Message) -> Optional[Message]:
        """Raises Fenced, or ChannelClosed for a message that is not one."""
        kind = message.get('kind')
        try:
            if kind == PREPARE:
                return self._prepare(Interval(float(message['seconds']), bool(message['first'])))
            if kind == CONFIRM:
                return self._confirm()
            if kind == UPLOAD:
                targets = {str(name): str(target) for name, target in message['targets'].items()}
                self._is_uploading = True
                return encode_uploaded(self._upload(targets, float(message['seconds'])))
            if kind == COMMITTED:
                own = decode_objects(message['own'], self._directory.bucket)
                self._record_committed({name: info for name, info in own.items() if info is not None})
            elif kind == CLOSED:
                self._is_over.set()
            return None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ChannelClosed(f'the master sent a message that is not valid: {error!r}') from error
        finally:
            self._is_uploading = False

    def _prepare(self, interval: Interval) -> Message:
        if self._is_finishing.is_set():
            self._snapshot = self.files.take_final(self._was_killed)
        else:
            self._snapshot = self.files.take(interval, self._superseded)
        if self._snapshot is None:
            return {'busy': True}
        end = {'ended': self._is_finishing.is_set(), 'failed': self._has_failed}
        return {**encode_view(self.files.view(self._snapshot)), **end}

    def _confirm(self) -> Message:
        return {'changed': ['?'] if self._snapshot is None else sorted(self.files.find_changed(self._snapshot))}

    def _upload(self, targets: Dict[str, str], seconds_max: float) -> Uploaded:
        snapshot = self._snapshot
        is_own = all(target in own_names(self.files.replica, name) for name, target in targets.items())
        if snapshot is None or not is_own or not targets.keys() <= snapshot.files.keys():
            return Uploaded({}, rewritten=frozenset(targets))
        is_final = self._is_finishing.is_set()
        policy = RetryPolicy(ROUND_TRIES_MAX, seconds_max, threading.Event() if is_final else self._is_finishing)
        try:
            self._directory.check_claim(policy)
            is_cancelled = (lambda: False) if is_final else self._is_finishing.is_set
            uploaded = self.files.upload(snapshot, targets, UploadTime(lambda: policy, is_cancelled, not is_final))
        except (TransientError, StorageRejected) as error:
            return Uploaded({}, outage=str(error))
        # The manifest may name what was uploaded from now on, until it is known whether it does.
        self._directory.forget_named()
        if self._is_finishing.is_set() and not is_final:
            return Uploaded({}, rewritten=frozenset(targets))
        return uploaded

    def _record_committed(self, own: Dict[str, ObjectInfo]) -> None:
        snapshot = self._snapshot
        if snapshot is None:
            return
        self.files.record_committed(own, snapshot)
        self._directory.record_named([*self.files.base.files.values(), *own.values()])
        if self._is_finishing.is_set():
            self._final_sets += 1
            view = self.files.view(self.files.take_final(self._was_killed))
            saved = {name: info.generation for name, info in own.items()}
            is_whole = all(info and saved.get(name) == info.generation for name, info in view.own.items())
            if is_whole or self._final_sets >= final_sets_max(self._has_failed):
                self._is_over.set()
