"""The other agents of a cluster, as the master's agent knows them: they connect to it, and answer its questions."""

import queue
import socket
import threading
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from vm_agent.logs.once_log import OnceLog
from vm_agent.storage.cluster.channel import Channel, ChannelClosed, Message, accept, deadline, shut_down
from vm_agent.storage.cluster.messages import CLOSED, DUE, HELLO

# Connections that have not said yet who they are.
STRANGERS_MAX = 64
# From the program's start: installing takes some replicas longer than others.
JOIN_SECONDS_MAX = 600.0
# A replica whose agent is restarted comes back within this time.
ABSENT_SECONDS_MAX = 60.0
BIND_DELAY_SECONDS = 1.0
# Until a wait for answers ends that is cancelled.
CANCEL_SECONDS_MAX = 0.5


class Peers:
    def __init__(
        self, replicas: Sequence[str], port: int, secret: Callable[[], str], log: Callable[[str, str], None]
    ) -> None:
        """`replicas` without the master. `secret` returns that of the attempt; empty while it is unknown."""
        self.replicas = replicas
        self._port = port
        self._secret = secret
        self._warn_once = OnceLog(log).warn
        self.on_due: Callable[[], None] = lambda: None
        """Called when a replica cannot wait for the next round."""
        self._channels: Dict[str, Channel] = {}
        self._lost_at: Dict[str, float] = {}
        self._is_started = False
        self._is_stopped = False
        self._server: Optional[socket.socket] = None
        self._started_at = time.monotonic()
        self.finished: Set[str] = set()
        """Replicas of which everything is committed, and whose VMs may be gone."""
        self._answers: 'queue.Queue[Tuple[str, Optional[Message]]]' = queue.Queue()
        self._lock = threading.Lock()
        self._strangers: List[socket.socket] = []

    def start(self) -> None:
        """Accepts connections from now on; nothing happens at a second call, nor in a job with one replica."""
        if self._is_started or not self.replicas:
            return
        self._is_started, self._started_at = True, time.monotonic()
        threading.Thread(target=self._listen, name='peers', daemon=True).start()

    def find_missing(self) -> Dict[str, float]:
        """Returns, by replica that is not connected, for how many seconds more it is awaited."""
        now = time.monotonic()
        joining_until, absent_until = self._started_at + JOIN_SECONDS_MAX, {}
        with self._lock:
            for replica in self.replicas:
                if replica not in self._channels and replica not in self.finished:
                    lost_at = self._lost_at.get(replica)
                    absent_until[replica] = joining_until if lost_at is None else lost_at + ABSENT_SECONDS_MAX
        return {replica: max(0.0, until - now) for replica, until in absent_until.items()}

    def has_joined(self, replica: str) -> bool:
        """Whether it has been connected at some time."""
        return replica in self._lost_at or replica in self._channels

    def ask(self, kind: str, messages: Dict[str, Message]) -> 'Question':
        """Sends each replica its message, if it is connected."""
        asked: Set[str] = set()
        number = time.monotonic_ns()
        for replica, message in messages.items():
            with self._lock:
                channel = self._channels.get(replica)
            if channel is not None and self._send(replica, channel, {'kind': kind, 'number': number, **message}):
                asked.add(replica)
        return Question(number, asked, self._answers)

    def say_closed(self) -> None:
        """Tells all replicas that nothing more is committed."""
        self.ask(CLOSED, {replica: {} for replica in self.replicas})

    def stop(self) -> None:
        self._is_stopped = True
        if self._server is not None:
            shut_down(self._server)
            self._server.close()
        with self._lock:
            channels = list(self._channels.values())
        for channel in channels:
            channel.close()

    def _send(self, replica: str, channel: Channel, message: Message) -> bool:
        try:
            channel.send(message)
            return True
        except ChannelClosed:
            self._remove(replica, channel)
            return False

    def _listen(self) -> None:
        server = self._server = self._open()
        while not self._is_stopped:
            try:
                accepted, _ = server.accept()
            except OSError:
                time.sleep(BIND_DELAY_SECONDS)
                continue
            self._admit(accepted)
            threading.Thread(target=self._serve, args=(accepted,), name='peer', daemon=True).start()

    def _admit(self, accepted: socket.socket) -> None:
        """Ends the oldest of too many strangers: a replica needs milliseconds to say who it is."""
        with self._lock:
            self._strangers.append(accepted)
            oldest = self._strangers.pop(0) if len(self._strangers) > STRANGERS_MAX else None
        if oldest is not None:
            shut_down(oldest)
            self._warn_once(f'More than {STRANGERS_MAX} connections to port {self._port} have not said who they are.')

    def _open(self) -> socket.socket:
        while True:
            try:
                return socket.create_server(('', self._port), backlog=STRANGERS_MAX)
            except OSError as error:
                self._warn_once(
                    f'Port {self._port}, on which the agents of the other replicas reach this one, cannot be opened: '
                    f'{error}. Their files are not saved meanwhile.'
                )
                time.sleep(BIND_DELAY_SECONDS)

    def _serve(self, accepted: socket.socket) -> None:
        try:
            with deadline(accepted):
                channel, replica = self._welcome(accepted)
        except ChannelClosed:
            # From any process that can reach the port: it is no more than that.
            return
        finally:
            with self._lock:
                self._strangers = [one for one in self._strangers if one is not accepted]
        with self._lock:
            replaced = self._channels.get(replica)
            self._channels[replica] = channel
        if replaced is not None:
            replaced.close()
        self.on_due()
        try:
            while True:
                message = channel.receive()
                if message.get('kind') == DUE:
                    self.on_due()
                else:
                    self._answers.put((replica, message))
        except ChannelClosed:
            self._remove(replica, channel)

    def _welcome(self, accepted: socket.socket) -> Tuple[Channel, str]:
        secret = self._secret()
        if not secret:
            accepted.close()
            raise ChannelClosed('the secret is not known yet')
        channel = accept(accepted, secret)
        message = channel.receive()
        replica = message.get('replica')
        if message.get('kind') != HELLO or replica not in self.replicas:
            channel.close()
            raise ChannelClosed('it is no replica of this job')
        return channel, str(replica)

    def _remove(self, replica: str, channel: Channel) -> None:
        channel.close()
        with self._lock:
            if self._channels.get(replica) is not channel:
                return
            del self._channels[replica]
            self._lost_at[replica] = time.monotonic()
        self._answers.put((replica, None))


class Question:
    """A message to some replicas, and their answers."""

    def __init__(
        self, number: int, asked: Iterable[str], answers: 'queue.Queue[Tuple[str, Optional[Message]]]'
    ) -> None:
        self._number = number
        self._open = set(asked)
        self._answers = answers

    def answers(self, seconds_max: float, cancelled: threading.Event) -> Dict[str, Dict[str, Any]]:
        """Waits for the answers: those of replicas that are lost, or too late, are missing."""
        give_up_at = time.monotonic() + seconds_max
        found: Dict[str, Dict[str, Any]] = {}
        while self._open and time.monotonic() < give_up_at and not cancelled.is_set():
            try:
                replica, message = self._answers.get(timeout=min(CANCEL_SECONDS_MAX, seconds_max))
            except queue.Empty:
                continue
            if message is None:
                self._open.discard(replica)
            elif message.get('number') == self._number and replica in self._open:
                self._open.discard(replica)
                found[replica] = message
        return found
