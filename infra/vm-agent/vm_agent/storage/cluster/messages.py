"""The messages between the agents of a cluster, as JSON objects; the master asks, and the others answer."""

from typing import Any, Dict, FrozenSet, Mapping, Optional

from vm_agent.storage.directory.manifest import decode_object, encode_object
from vm_agent.storage.output.local_files import Uploaded, View
from vm_agent.storage.transfer.client import ObjectInfo

PREPARE = 'prepare'
"""Take a snapshot: `seconds` and `first` (see Interval). The answer is a view, `ended` and `failed`; or `busy`."""
CONFIRM = 'confirm'
"""Compare your files with the snapshot. The answer has the names of those that have `changed`."""
UPLOAD = 'upload'
"""Upload files of the snapshot: `targets` has the names of objects by name. The answer is what was uploaded."""
COMMITTED = 'committed'
"""The manifest names these files of yours (`own`). There is no answer."""
CLOSED = 'closed'
"""The master has committed its last set. There is no answer."""
DUE = 'due'
"""From a replica that cannot wait for the next round."""
HELLO = 'hello'
"""The first message of a replica: its name."""


# Rounds in which a replica that has ended is held back, since another one writes into its directories.
HELD_SETS_MAX = 5


def final_sets_max(has_failed: bool) -> int:
    """Returns after how many sets a replica that has ended is not awaited any more, though files of it are held back."""
    return 1 if has_failed else HELD_SETS_MAX


class Malformed(Exception):
    """A message is not one of these."""


def encode_view(view: View) -> Dict[str, Any]:
    return {
        'own': {name: _encode(info) for name, info in view.own.items()},
        'gone': sorted(view.gone),
        'unfinished': sorted(view.unfinished),
    }


def decode_view(message: Mapping[str, Any], bucket: str) -> View:
    """Raises Malformed."""
    try:
        own = {str(name): _decode(info, bucket) for name, info in message['own'].items()}
        return View(own, frozenset(map(str, message['gone'])), frozenset(map(str, message['unfinished'])))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Malformed(repr(error)) from error


def decode_changed(message: Mapping[str, Any]) -> FrozenSet[str]:
    """Returns an unknown name if the answer is not valid: something may have changed."""
    changed = message.get('changed')
    return frozenset(map(str, changed)) if isinstance(changed, list) else frozenset('?')


def encode_uploaded(uploaded: Uploaded) -> Dict[str, Any]:
    return {
        'stored': encode_objects(uploaded.stored),
        'failed': dict(uploaded.failed),
        'rewritten': sorted(uploaded.rewritten),
        'outage': uploaded.outage,
    }


def decode_uploaded(message: Mapping[str, Any], bucket: str) -> Uploaded:
    """Raises Malformed."""
    try:
        stored = {name: info for name, info in decode_objects(message['stored'], bucket).items() if info is not None}
        failed = {str(name): str(why) for name, why in message['failed'].items()}
        outage = message['outage']
        return Uploaded(stored, failed, frozenset(map(str, message['rewritten'])), outage and str(outage))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Malformed(repr(error)) from error


def encode_objects(objects: Mapping[str, Optional[ObjectInfo]]) -> Dict[str, Any]:
    return {name: _encode(info) for name, info in objects.items()}


def decode_objects(objects: Any, bucket: str) -> Dict[str, Optional[ObjectInfo]]:
    """Raises KeyError, TypeError, ValueError or AttributeError."""
    return {str(name): _decode(info, bucket) for name, info in objects.items()}


def _encode(info: Optional[ObjectInfo]) -> Any:
    return None if info is None else encode_object(info)


def _decode(info: Any, bucket: str) -> Optional[ObjectInfo]:
    return None if info is None else decode_object(info, bucket)
