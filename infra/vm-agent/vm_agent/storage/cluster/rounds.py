"""
Rounds that save the files of all replicas as one consistent set, in two phases (docs/adr/0056): every replica takes a
snapshot; when all have, every replica confirms that nothing has changed since. Then there was a moment, between the
last snapshot and the first confirmation, at which all snapshots were true at once. This needs no clocks.
"""

import time
from dataclasses import dataclass, field, replace
from enum import Enum
from threading import Event
from typing import AbstractSet, Callable, Dict, Iterable, List, Mapping, Optional, Set, Tuple

from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.storage.cluster.channel import Message
from vm_agent.storage.cluster.framework_index import read_incomplete
from vm_agent.storage.cluster.joint_set import (
    JointSet,
    assign_names,
    find_depending,
    find_new_kinds,
    find_shared,
    find_without,
    kind_of,
)
from vm_agent.storage.cluster.messages import (
    COMMITTED,
    CONFIRM,
    PREPARE,
    UPLOAD,
    Malformed,
    decode_changed,
    decode_uploaded,
    decode_view,
    encode_objects,
    final_sets_max,
)
from vm_agent.storage.cluster.peers import Peers, Question
from vm_agent.storage.cluster.set_warnings import SetWarnings
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.directory.object_names import own_names, replica_name_of
from vm_agent.storage.output.local_files import MASTER, LocalFiles, Uploaded, UploadTime, View
from vm_agent.storage.output.open_files import is_log_name
from vm_agent.storage.output.output_files import parent_of
from vm_agent.storage.output.snapshot import Interval, Snapshot
from vm_agent.storage.transfer.client import SUCCESS_KEY, ObjectInfo, StorageRejected

# The time for an answer, besides what is looked for: a scan of many files takes seconds. When the master's VM may be at
# its end, a replica that does not answer must not cost what the others have.
ANSWER_SECONDS_MAX, HURRIED_ANSWER_SECONDS_MAX = 30.0, 3.0
# After so many intervals without a moment at which nothing changed, directories that keep changing stay as they are.
TORN_INTERVALS_MAX = 4
UNFINISHED_ROUNDS_MAX = 4
MARK_SECONDS_MAX = 5.0


class Outcome(Enum):
    SAVED = 'everything is committed'
    CHANGED = 'a program changed files meanwhile: another round may succeed at once'
    LATER = 'a save in progress, or a replica, has to be awaited'


@dataclass(frozen=True)
class Timing:
    """How long the steps of a round may take."""

    interval: Interval
    cancelled: Event
    upload: UploadTime
    commit: Callable[[], RetryPolicy]
    answer_seconds_max: float = ANSWER_SECONDS_MAX
    upload_seconds_max: float = float('inf')
    """How long the uploads of others are awaited: while programs run, as long as they are connected."""
    is_forced: bool = False
    """Directories that keep changing are left out, instead of the whole set."""


@dataclass(frozen=True)
class Ending:
    """The master's program has ended: whatever can be saved is saved."""

    was_killed: bool
    has_failed: bool
    is_last: bool = True
    """Whether no other replica is awaited any more."""
    marks: Tuple[str, ...] = ()
    """For the manifest, when everything is uploaded."""


@dataclass
class _Set:
    """The files of one round, from the snapshots to the commit."""

    views: Dict[str, View]
    snapshot: Snapshot
    missing: List[str]
    held: Set[str] = field(default_factory=set)
    """Directories of which the last committed state stays."""
    held_kinds: AbstractSet[str] = frozenset()
    """The same for kinds of outermost directories, with all that is below them."""
    own: Dict[str, Dict[str, Optional[ObjectInfo]]] = field(default_factory=dict)

    def is_held(self, name: str) -> bool:
        return parent_of(name) in self.held or kind_of(name) in self.held_kinds


class Rounds:
    def __init__(self, directory: JobDirectory, files: LocalFiles, peers: Peers) -> None:
        self._directory = directory
        self._files = files
        self._peers = peers
        self._seen: Dict[str, Iterable[str]] = {}
        """The files that replicas had in their last snapshots."""
        self._joint = JointSet(Manifest(None), directory.name_of)
        self._committed: Mapping[str, ObjectInfo] = {}
        self._number = 0
        self._warnings = SetWarnings(files)
        self._final_sets: Dict[str, int] = {}
        self._failed: Set[str] = set()
        """The replicas whose programs have ended without success."""
        self._unfinished: Dict[Tuple[str, str], int] = {}
        """For how many rounds a replica has been writing a file."""
        self.reports: Mapping[str, int] = {}
        """How often the program had reported each metric when the committed files were written; see Manifest."""
        self.count_reports: Callable[[], Mapping[str, int]] = dict
        """Returns the same until now."""
        self.bytes_max = 0
        """The bytes that the disk of each replica may hold; 0 if unknown."""
        self.problems: Mapping[str, str] = {}
        """Why files could not be saved in the last round, by name."""
        self.running: AbstractSet[str] = frozenset()
        """The replicas whose programs had not ended in the last round."""
        self.busy: AbstractSet[str] = frozenset()
        """Those that had no snapshot: they upload files, or a program does not rest."""

    def resume(self, manifest: Manifest) -> None:
        """Begins from what the directory has: what this attempt has claimed, or had committed before a reboot."""
        self._joint = JointSet(self._files.base, self._directory.name_of)
        self._joint.resume(manifest)
        self._committed, self._number, self.reports = manifest.files, manifest.set_number, manifest.reports

    def run(self, timing: Timing, ending: Optional[Ending] = None) -> Outcome:
        """One round. Raises Fenced, TransientError or StorageRejected."""
        missing = self._peers.find_missing()
        if ending is None and any(missing.values()):
            return Outcome.LATER
        if ending is None and missing:
            self._warnings.add_absent(missing)
        taken = self._take(timing, ending, missing)
        if taken is None:
            return Outcome.LATER
        if taken.snapshot.is_saved and not self._peers.replicas:
            # Usually, a program has saved nothing since the last interval.
            return Outcome.SAVED
        # Not before: until the program has a pause, it may report and save more.
        counted = self.count_reports()
        if len(taken.views) > 1 and not self._confirm(taken, timing, ending):
            return Outcome.CHANGED
        self._hold(taken, is_success=ending is not None and not ending.has_failed)
        outcome = self._upload(taken, timing, ending)
        if outcome is Outcome.SAVED:
            self._commit(taken, counted, timing, ending)
        return outcome

    def _take(self, timing: Timing, ending: Optional[Ending], missing: Mapping[str, float]) -> Optional[_Set]:
        """The first phase. Returns None if some replica has no snapshot."""
        interval = timing.interval
        message = {'seconds': interval.seconds, 'first': interval.is_first}
        question = self._peers.ask(PREPARE, dict.fromkeys(self._peers.replicas, message))
        if ending is None:
            snapshot = self._files.take(interval, timing.cancelled)
        else:
            snapshot = self._files.take_final(ending.was_killed)
        found = question.answers(interval.seconds + timing.answer_seconds_max, timing.cancelled)
        self.busy = {replica for replica, answer in found.items() if answer.get('busy')}
        if snapshot is None or (self.busy and ending is None):
            return None
        views = {MASTER: self._files.view(snapshot)}
        lost: List[str] = []
        for replica in self._peers.replicas:
            try:
                view = decode_view(found[replica], self._directory.bucket)
                self._check_view(replica, view)
                views[replica], self._seen[replica] = view, view.own
            except (KeyError, Malformed):
                if replica not in self._peers.finished:
                    lost.append(replica)
        if lost and ending is None and not set(lost) <= missing.keys():
            return None
        self.running = {replica for replica, answer in found.items() if not answer.get('ended')} - self.busy
        self._failed.update(replica for replica, answer in found.items() if answer.get('failed'))
        if ending is not None and ending.has_failed:
            self._failed.add(MASTER)
        return _Set(views, snapshot, lost)

    def _check_view(self, replica: str, view: View) -> None:
        """Raises Malformed if a replica names objects of others."""
        for name, info in view.own.items():
            own = [self._directory.prefix + one for one in own_names(replica, name)]
            if not own or (info is not None and info.name not in own):
                raise Malformed(f'{replica} has no such file: {name!r}')

    def _confirm(self, taken: _Set, timing: Timing, ending: Optional[Ending]) -> bool:
        """The second phase. Returns whether the snapshots are of one moment, apart from what is held back."""
        others = taken.views.keys() - {MASTER}
        question = self._peers.ask(CONFIRM, {replica: {} for replica in others})
        changed = {MASTER: self._files.find_changed(taken.snapshot) if ending is None else frozenset()}
        found = question.answers(timing.answer_seconds_max, timing.cancelled)
        changed.update({one: decode_changed(answer) for one, answer in found.items()})
        unanswered = others - found.keys()
        if (any(changed.values()) and not timing.is_forced) or (unanswered and ending is None):
            return False
        taken.missing += [replica for replica in unanswered if replica not in taken.missing]
        for replica in unanswered:
            del taken.views[replica]
        moving = frozenset().union(self._find_unfinished(taken, ending), *changed.values())
        taken.held |= find_shared(taken.views, moving, changed)
        return True

    def _find_unfinished(self, taken: _Set, ending: Optional[Ending]) -> Set[str]:
        """Returns the files that are being written, for some rounds: a file that always is must not hold up others."""
        counts: Dict[Tuple[str, str], int] = {}
        for replica, view in taken.views.items():
            for name in view.unfinished:
                counts[replica, name] = self._unfinished.get((replica, name), 0) + (ending is None)
        self._unfinished = counts
        return {name for (_, name), count in counts.items() if count <= UNFINISHED_ROUNDS_MAX}

    def _hold(self, taken: _Set, is_success: bool) -> None:
        """
        Keeps the last committed version of what may not belong together. A replica that was lost may have begun to save
        in folders that are new: after a success of the master, they are its results.
        """
        taken.held |= find_without(taken.views, self._joint, self._failed)
        taken.held_kinds = find_depending(self._joint, self._seen, taken.missing)
        if not is_success and any(map(self._peers.has_joined, taken.missing)):
            taken.held_kinds |= find_new_kinds(taken.views, self._joint)
        taken.own = {replica: dict(view.own) for replica, view in taken.views.items()}
        self._keep_held(taken)

    def _keep_held(self, taken: _Set) -> None:
        for replica, own in taken.own.items():
            for name in [name for name in own if taken.is_held(name)]:
                self._keep(own, replica, name)

    def _keep(self, own: Dict[str, Optional[ObjectInfo]], replica: str, name: str) -> None:
        committed = self._joint.owned.get(replica, {}).get(name)
        if committed is None:
            own.pop(name, None)
        else:
            own[name] = committed

    def _upload(self, taken: _Set, timing: Timing, ending: Optional[Ending]) -> Outcome:
        targets = self._find_targets(taken, uploads_held=ending is not None and ending.is_last)
        if targets.get(MASTER):
            self._directory.check_claim(timing.commit())
        seconds_max = timing.upload.policy().seconds_max
        others = {name: {'targets': found, 'seconds': seconds_max} for name, found in targets.items() if name != MASTER}
        question = self._peers.ask(UPLOAD, others)
        own = self._files.upload(taken.snapshot, targets.get(MASTER, {}), timing.upload)
        results = {MASTER: own, **self._read_uploaded(question, timing)}
        problems: Dict[str, str] = {}
        for replica, found in targets.items():
            result = results.get(replica, Uploaded({}, outage=f'{replica} has not uploaded it yet'))
            if ending is None and result.outage is not None:
                raise TransientError(result.outage)
            if ending is None and (result.rewritten or len(result.stored) + len(result.failed) < len(found)):
                return Outcome.CHANGED
            for name in found:
                if name in result.stored and not taken.is_held(name):
                    taken.own[replica][name] = result.stored[name]
                elif name not in result.stored:
                    still = 'a process is still writing to it' if name in result.rewritten else None
                    problems[name] = result.failed.get(name) or still or result.outage or 'it was not tried'
                    self._keep(taken.own[replica], replica, name)
        self.problems = problems
        held = sorted(target for found in targets.values() for name, target in found.items() if taken.is_held(name))
        if held:
            self._warnings.add_held(held, taken.missing)
        taken.held |= find_shared(taken.views, problems)
        self._keep_held(taken)
        return Outcome.SAVED

    def _find_targets(self, taken: _Set, uploads_held: bool) -> Dict[str, Dict[str, str]]:
        """
        Returns, by replica, the object for each file that has none, or has another than it should. At the end, what is
        held back is uploaded, too, under a name of its own: a bucket without versioning has one object of each name.
        """
        targets: Dict[str, Dict[str, str]] = {}
        for replica, names in assign_names(taken.views, self._joint).items():
            for name, assigned in names.items():
                is_held, info = taken.is_held(name), taken.views[replica].own[name]
                target = replica_name_of(replica, name) if is_held else assigned
                is_there = info is not None and (is_held or info.name == self._directory.prefix + target)
                if not is_there and (uploads_held or not is_held):
                    targets.setdefault(replica, {})[name] = target
        return targets

    def _read_uploaded(self, question: Question, timing: Timing) -> Dict[str, Uploaded]:
        found: Dict[str, Uploaded] = {}
        for replica, answer in question.answers(timing.upload_seconds_max, timing.cancelled).items():
            try:
                found[replica] = decode_uploaded(answer, self._directory.bucket)
            except Malformed:
                continue
        return found

    def _commit(self, taken: _Set, counted: Mapping[str, int], timing: Timing, ending: Optional[Ending]) -> None:
        """Writes the manifest, unless it is the same."""
        joint, manifest = self._propose(taken)
        # A snapshot of one machine has what its program had.
        if self._peers.replicas and self._hold_incomplete(taken, manifest, timing.commit(), ending):
            joint, manifest = self._propose(taken)
        changed = find_different(self._committed, manifest.files)
        if not all(map(is_log_name, changed)):
            self.reports = counted
        marks = () if ending is None or self.problems else ending.marks
        manifest = replace(manifest, reports=self.reports, set_number=self._number + bool(changed))
        if changed or SUCCESS_KEY in marks:
            self._directory.write_manifest(manifest, timing.commit(), marks)
        elif marks:
            self._mark_end(manifest, timing.commit(), marks)
        if changed:
            self._warnings.add_conflicts(manifest)
            self._warnings.add_size(manifest, self.bytes_max)
        self._joint, self._committed, self._number = joint, manifest.files, manifest.set_number
        self._files.record_committed(joint.owned.get(MASTER, {}), taken.snapshot)
        self._tell_committed(taken, joint)

    def _propose(self, taken: _Set) -> Tuple[JointSet, Manifest]:
        joint = self._joint.copy()
        for replica, own in taken.own.items():
            joint.owned[replica] = {name: info for name, info in own.items() if info is not None}
            kept = {name for name in taken.views[replica].gone if taken.is_held(name)}
            joint.gone[replica] = taken.views[replica].gone - kept
        return joint, joint.to_manifest()

    def _hold_incomplete(
        self, taken: _Set, manifest: Manifest, policy: RetryPolicy, ending: Optional[Ending]
    ) -> bool:
        """Keeps the last version of checkpoints whose index names more than there is; returns whether there are any."""
        folders = {parent_of(name) for name in find_different(self._committed, manifest.files)}
        near = {name: info for name, info in manifest.files.items() if parent_of(name) in folders}
        found = read_incomplete(self._directory, near, policy)
        for index, one in found.items():
            self._warnings.add_incomplete(index, one, is_last=ending is not None and ending.is_last)
        incomplete = frozenset().union(*(one.named for one in found.values()))
        for replica, own in taken.own.items():
            for name in [name for name, info in own.items() if info and self._directory.name_of(info) in incomplete]:
                self._keep(own, replica, name)
        return bool(found)

    def _mark_end(self, manifest: Manifest, policy: RetryPolicy, marks: Tuple[str, ...]) -> None:
        """Everything is saved already: the next attempt only waits longer if the mark cannot be written."""
        try:
            brief = replace(policy, seconds_max=min(policy.seconds_max, MARK_SECONDS_MAX))
            self._directory.write_manifest(manifest, brief, marks)
        except (TransientError, StorageRejected) as error:
            self._files.warn_once(f'The end of this attempt could not be recorded: {error}')

    def _tell_committed(self, taken: _Set, joint: JointSet) -> None:
        messages: Dict[str, Message] = {}
        for replica in taken.views.keys() - {MASTER}:
            messages[replica] = {'own': encode_objects(joint.owned[replica])}
            if replica not in self.running:
                self._final_sets[replica] = self._final_sets.get(replica, 0) + 1
                is_whole = joint.owned[replica].keys() == taken.views[replica].own.keys()
                if is_whole or self._final_sets[replica] >= final_sets_max(replica in self._failed):
                    self._peers.finished.add(replica)
        self._peers.ask(COMMITTED, messages)


def find_different(before: Mapping[str, ObjectInfo], after: Mapping[str, ObjectInfo]) -> Set[str]:
    """Returns the names whose generations differ."""
    return {
        name
        for name in {*before, *after}
        if name not in before or name not in after or before[name].generation != after[name].generation
    }
