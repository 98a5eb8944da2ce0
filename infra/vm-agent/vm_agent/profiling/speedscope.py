"""Files of speedscope (github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources), as py-spy writes them."""

import re
from typing import Any, Collection, Dict, List, Mapping, Optional

# Profiles of one thread each: the main thread, then those that have the most samples.
THREADS_MAX = 32
THREAD = re.compile(r'Thread (\d+) "(.*)"')
HOLDS_LOCK = 'MainThread, while it holds the interpreter lock'


def merge(every: Mapping[str, Any], holding: Optional[Mapping[str, Any]], main_ids: Collection[int]) -> Dict[str, Any]:
    """
    Returns the profiles of all threads, the main one first and named MainThread, and then that of the main thread from
    a recording of the threads that hold the interpreter's lock; empty if it never did. `main_ids` are ids of the main
    thread: one for each namespace of processes.
    """
    frames: List[Any] = list(every['shared']['frames'])
    threads = sorted(every['profiles'], key=lambda profile: (not _is_main(profile, main_ids), -len(profile['samples'])))
    profiles = [dict(profile) for profile in threads[:THREADS_MAX]]
    if profiles and _is_main(profiles[0], main_ids):
        profiles[0]['name'] = 'MainThread'
    if holding is not None:
        profiles.append(_of_lock(holding, main_ids, frames))
    return {**every, 'activeProfileIndex': 0, 'profiles': profiles, 'shared': {'frames': frames}}


def _of_lock(holding: Mapping[str, Any], main_ids: Collection[int], frames: List[Any]) -> Dict[str, Any]:
    """Returns its profile of the main thread, whose frames it adds to `frames`."""
    offset = len(frames)
    frames += holding['shared']['frames']
    own = next((profile for profile in holding['profiles'] if _is_main(profile, main_ids)), None)
    empty = {'type': 'sampled', 'unit': 'seconds', 'startValue': 0.0, 'endValue': 0.0, 'samples': [], 'weights': []}
    samples = [] if own is None else [[frame + offset for frame in sample] for sample in own['samples']]
    return {**(own or empty), 'name': HOLDS_LOCK, 'samples': samples}


def _is_main(profile: Mapping[str, Any], main_ids: Collection[int]) -> bool:
    """By the thread's name, which a program has only after `import threading`, or by its id, which the process has too."""
    match = THREAD.fullmatch(str(profile['name']))
    return match is not None and (match[2] == 'MainThread' or int(match[1]) in main_ids)
