"""Checks in advance which of pip's package indexes are reachable: pip itself spends minutes on one that is not."""

import os
import re
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import List, Mapping, Tuple
from urllib.parse import urlsplit

from vm_agent.cache.key import TRANSPORT_SETTINGS
from vm_agent.http.credentials import without_credentials

DEFAULT_INDEX = 'https://pypi.org/simple'
PROBE_SECONDS = 4.0
# On an overloaded machine, pip alone may take more than 30 s to start.
PIP_CONFIG_SECONDS_MAX = 120.0

INDEX_SETTINGS = frozenset(('config-file', 'index-url', 'extra-index-url'))


@dataclass(frozen=True)
class Indexes:
    reachable: Tuple[str, ...]
    unreachable: Tuple[str, ...]
    is_complete: bool = True
    """Whether these URLs are all that pip's configuration says about where packages come from, and which."""

    def describe_unreachable(self) -> str:
        """Returns a sentence for the user about the unreachable indexes; empty if there are none."""
        names = ', '.join(without_credentials(url) for url in self.unreachable)
        return f'The package index {names} could not be reached from the VM.' if names else ''

    def unreachable_host(self) -> str:
        """Returns the host of the first index, if none is reachable; empty otherwise, and for a directory."""
        return '' if self.reachable else urlsplit(without_credentials(self.unreachable[0])).netloc

    def pip_options(self) -> Tuple[str, ...]:
        """Makes pip use the reachable indexes only; the rest of the machine's pip configuration stays in effect."""
        if not self.reachable:
            return ('--no-index',)
        return ('--index-url', self.reachable[0]) if self.unreachable else ()

    def uv_options(self) -> Tuple[str, ...]:
        """Makes uv use the reachable indexes as pip does: the best version of all of them."""
        if not self.reachable:
            return ('--no-index',)
        others = (option for url in self.reachable[1:] for option in ('--index', url))
        return ('--default-index', self.reachable[0], *others, '--index-strategy', 'unsafe-best-match')


def probe_indexes(python: Path, environment: Mapping[str, str]) -> Indexes:
    """Probes in parallel every index of pip's configuration, including its environment variables."""
    settings = _pip_settings(python, environment)
    urls = _configured_indexes(settings)
    with ThreadPoolExecutor(max_workers=len(urls)) as pool:
        results = list(pool.map(_is_reachable, urls))
    return Indexes(
        reachable=tuple(url for url, is_reachable in zip(urls, results) if is_reachable),
        unreachable=tuple(url for url, is_reachable in zip(urls, results) if not is_reachable),
        is_complete=set(settings) <= INDEX_SETTINGS | TRANSPORT_SETTINGS,
    )


def _pip_settings(python: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
    command = [str(python), '-m', 'pip', 'config', 'list']
    listing = subprocess.run(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PIP_CONFIG_SECONDS_MAX,
        check=False,
    )
    return dict(re.findall(r"^(?:global|install|:env:)\.([\w-]+)='(.*)'$", listing.stdout, re.MULTILINE))


def _configured_indexes(settings: Mapping[str, str]) -> Tuple[str, ...]:
    if settings.get('no-index', '').lower() in ('1', 'true', 'yes', 'on'):
        return (os.devnull,)
    urls: List[str] = [settings.get('index-url', DEFAULT_INDEX)]
    for url in settings.get('extra-index-url', '').replace('\\n', ' ').split():
        if url not in urls:
            urls.append(url)
    return tuple(urls)


def _is_reachable(url: str) -> bool:
    if url.startswith('file://'):
        return Path(url[len('file://') :]).is_dir()
    if '://' not in url:
        return False
    try:
        request = urllib.request.Request(without_credentials(url), method='HEAD')
        with urllib.request.urlopen(request, timeout=PROBE_SECONDS):
            return True
    except urllib.error.HTTPError:
        # An error for missing credentials shows that the index is reachable, too.
        return True
    except OSError:
        return False
