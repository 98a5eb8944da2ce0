"""The exceptions of proxies: what listens on this machine itself is never reached through one."""

import re
from typing import Dict, List, Mapping

PROXY = re.compile(r'(?!no_)\w+_proxy\Z', re.IGNORECASE)
# With brackets too, as the host name of a URL has them.
LOOPBACK_HOSTS = ('127.0.0.1', 'localhost', '::1', '[::1]')


def loopback_exceptions(environment: Mapping[str, str]) -> Dict[str, str]:
    """
    Returns NO_PROXY and no_proxy with the loopback hosts for an environment that names a proxy, else nothing. Clients
    read either; a name that is not set gets the entries of the other. `*` stays: it excepts every host.
    """
    if not any(value and PROXY.match(name) for name, value in environment.items()):
        return {}
    own = {name: _entries(environment.get(name, '')) for name in ('NO_PROXY', 'no_proxy')}
    both = [entry for entries in own.values() for entry in entries]
    return {
        name: '*' if '*' in both else ','.join(dict.fromkeys([*(entries or both), *LOOPBACK_HOSTS]))
        for name, entries in own.items()
    }


def _entries(value: str) -> List[str]:
    return [entry for entry in re.split(r'[\s,]+', value) if entry]
