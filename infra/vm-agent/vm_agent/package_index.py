"""Learning early which of pip's package indexes answer: pip itself spends minutes on one that does not."""

import os
import re
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import List, Mapping, Tuple

DEFAULT_INDEX = 'https://pypi.org/simple'
PROBE_SECONDS = 4.0


@dataclass(frozen=True)
class Indexes:
    reachable: Tuple[str, ...]
    unreachable: Tuple[str, ...]

    def describe(self) -> str:
        """A sentence for the user about what could not be asked; empty where everything answered."""
        names = ', '.join(without_credentials(url) for url in self.unreachable)
        return f'The package index {names} could not be reached from the VM.' if names else ''

    def pip_options(self) -> Tuple[str, ...]:
        """Makes pip leave out what did not answer; whatever else the machine's configuration says stays."""
        if not self.reachable:
            return ('--no-index',)
        return ('--index-url', self.reachable[0]) if self.unreachable else ()


def probe_indexes(python: Path, environment: Mapping[str, str]) -> Indexes:
    """Asks every index of the pip configuration, the environment's included, for any answer at all."""
    urls = _configured_indexes(python, environment)
    with ThreadPoolExecutor(max_workers=len(urls)) as pool:
        answers = list(pool.map(_answers, urls))
    return Indexes(
        reachable=tuple(url for url, is_there in zip(urls, answers) if is_there),
        unreachable=tuple(url for url, is_there in zip(urls, answers) if not is_there),
    )


def without_credentials(url: str) -> str:
    return re.sub(r'//[^/@]*@', '//', url)


def _configured_indexes(python: Path, environment: Mapping[str, str]) -> Tuple[str, ...]:
    command = [str(python), '-m', 'pip', 'config', 'list']
    listing = subprocess.run(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    settings = dict(re.findall(r"^(?:global|install|:env:)\.([\w-]+)='(.*)'$", listing.stdout, re.MULTILINE))
    if settings.get('no-index', '').lower() in ('1', 'true', 'yes', 'on'):
        return (os.devnull,)
    urls: List[str] = [settings.get('index-url', DEFAULT_INDEX)]
    for url in settings.get('extra-index-url', '').replace('\\n', ' ').split():
        if url not in urls:
            urls.append(url)
    return tuple(urls)


def _answers(url: str) -> bool:
    if url.startswith('file://'):
        return Path(url[len('file://') :]).is_dir()
    if '://' not in url:
        return False
    try:
        request = urllib.request.Request(without_credentials(url), method='HEAD')
        with urllib.request.urlopen(request, timeout=PROBE_SECONDS):
            return True
    except urllib.error.HTTPError:
        # A refusal without credentials is an answer too.
        return True
    except OSError:
        return False
