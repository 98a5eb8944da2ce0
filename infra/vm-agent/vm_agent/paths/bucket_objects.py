"""
Reads objects for `hook`, inside the program: with the VM's own account, over whatever proxy and certificates the
program's environment names. Imported at the first such read only.
"""

import errno
import json
import os
import shutil
import stat
import tempfile
import time
import urllib.error
import urllib.request
from typing import Any, Dict, List, Mapping, Optional, Tuple
from urllib.parse import quote, urlencode

ENDPOINT = 'https://storage.googleapis.com'
TRIES_MAX = 4
TIMEOUT_SECONDS = 60.0
TOKEN_MARGIN_SECONDS = 60.0
LIST_PAGE_COUNT = 1_000
LIST_COUNT_MAX = 100_000
TRANSIENT_STATUSES = (408, 429, 500, 502, 503, 504)


class Entry:
    """An os.DirEntry of a bucket."""

    def __init__(self, folder: str, name: str, size_bytes: Optional[int]) -> None:
        """`size_bytes` is None for a directory."""
        self.name = name
        self.path = os.path.join(folder, name)
        self._size_bytes = size_bytes

    def __fspath__(self) -> str:
        return self.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._size_bytes is None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._size_bytes is not None

    def is_symlink(self) -> bool:
        return False

    def is_junction(self) -> bool:
        return False

    def inode(self) -> int:
        return 0

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return describe(self._size_bytes)


def describe(size_bytes: Optional[int]) -> os.stat_result:
    """Returns the stat result of a read-only file of this size, or of a directory if it is None."""
    mode = stat.S_IFDIR | 0o555 if size_bytes is None else stat.S_IFREG | 0o444
    return os.stat_result((mode, 0, 0, 1, os.getuid(), os.getgid(), size_bytes or 0, 0, 0, 0))


class Bucket:
    """All methods raise OSError, with the numbers that a local file system gives."""

    def __init__(self, cache: str) -> None:
        """Downloaded objects are kept in the directory `cache`."""
        self._cache = cache
        self._token: Optional[str] = None
        self._token_expires_at = 0.0

    def download(self, bucket: str, name: str, path: str) -> str:
        """Returns the local file with the bytes of the live object. `path` is for messages."""
        url = f'{_object_url(bucket, name)}?alt=media'
        with self._open(url, path) as response:
            generation = response.headers.get('x-goog-generation') or 'unknown'
            target = os.path.join(self._cache, bucket, generation, *_parts(name))
            size = response.headers.get('content-length')
            if generation != 'unknown' and os.path.isfile(target) and str(os.path.getsize(target)) == size:
                return target
            os.makedirs(os.path.dirname(target), exist_ok=True)
            descriptor, draft = tempfile.mkstemp(dir=self._cache)
            try:
                with os.fdopen(descriptor, 'wb') as file:
                    shutil.copyfileobj(response, file, 1 << 20)
                    if size is not None and file.tell() != int(size):
                        raise OSError(errno.EIO, f'The download ended after {file.tell()} of {size} bytes', path)
                os.replace(draft, target)
            except BaseException:
                os.unlink(draft)
                raise
            return target

    def stat(self, bucket: str, name: str, path: str) -> os.stat_result:
        """A name is a directory if there are objects below it, as gcsfuse shows it."""
        if name:
            try:
                with self._open(_object_url(bucket, name), path) as response:
                    return describe(int(json.load(response)['size']))
            except FileNotFoundError:
                pass
        page = self._list_page(bucket, {'prefix': _as_prefix(name), 'maxResults': '1'}, path)
        if name and not page.get('items') and not page.get('prefixes'):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return describe(None)

    def list(self, bucket: str, name: str, path: str) -> List[Entry]:
        prefix = _as_prefix(name)
        query = {'prefix': prefix, 'delimiter': '/', 'maxResults': str(LIST_PAGE_COUNT)}
        entries: Dict[str, Entry] = {}
        is_found = not name
        while True:
            page = self._list_page(bucket, query, path)
            for folder in page.get('prefixes', []):
                child = folder[len(prefix) :].rstrip('/')
                entries[child] = Entry(path, child, None)
            for item in page.get('items', []):
                child = item['name'][len(prefix) :]
                is_found = True
                if child and child not in entries:
                    entries[child] = Entry(path, child, int(item['size']))
            if 'nextPageToken' not in page:
                break
            query['pageToken'] = page['nextPageToken']
            if len(entries) >= LIST_COUNT_MAX:
                message = f'The directory has more than {LIST_COUNT_MAX} objects: list it with google-cloud-storage'
                raise OSError(errno.EFBIG, message, path)
        if not entries and not is_found:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return list(entries.values())

    def _list_page(self, bucket: str, query: Mapping[str, str], path: str) -> Dict[str, Any]:
        with self._open(f'{ENDPOINT}/storage/v1/b/{quote(bucket, safe="")}/o?{urlencode(query)}', path) as response:
            page: Dict[str, Any] = json.load(response)
            return page

    def _open(self, url: str, path: str) -> Any:
        """Returns the response, which is closed by the caller; transient errors are retried after 1, 2 and 4 s."""
        for tries in range(1, TRIES_MAX + 1):
            try:
                request = urllib.request.Request(url, headers={'Accept-Encoding': 'gzip', **self._authorization()})
                return urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
            except urllib.error.HTTPError as error:
                if error.code not in TRANSIENT_STATUSES or tries == TRIES_MAX:
                    raise _to_os_error(error, path) from None
            except OSError as error:
                if tries == TRIES_MAX:
                    raise OSError(errno.EIO, f'Cloud Storage could not be reached: {error}', path) from error
            time.sleep(2.0 ** (tries - 1))
        raise AssertionError('unreachable')

    def _authorization(self) -> Dict[str, str]:
        """Empty if the VM has no account: public objects can be read without one."""
        if self._token is None or time.time() > self._token_expires_at - TOKEN_MARGIN_SECONDS:
            self._token, self._token_expires_at = _fetch_token()
        return {} if self._token is None else {'Authorization': f'Bearer {self._token}'}


def _fetch_token() -> Tuple[Optional[str], float]:
    host = os.environ.get('GCE_METADATA_HOST', 'metadata.google.internal')
    url = f'http://{host}/computeMetadata/v1/instance/service-accounts/default/token'
    request = urllib.request.Request(url, headers={'Metadata-Flavor': 'Google'})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=10) as response:
            body = json.load(response)
            return str(body['access_token']), time.time() + float(body['expires_in'])
    except (OSError, ValueError, KeyError):
        return None, time.time() + 2 * TOKEN_MARGIN_SECONDS


def _to_os_error(error: urllib.error.HTTPError, path: str) -> OSError:
    numbers = {404: errno.ENOENT, 401: errno.EACCES, 403: errno.EACCES}
    number = numbers.get(error.code, errno.EIO)
    message = os.strerror(number) if number == errno.ENOENT else f'Cloud Storage answered {error.code} {error.reason}'
    return OSError(number, message, path)


def _object_url(bucket: str, name: str) -> str:
    return f'{ENDPOINT}/storage/v1/b/{quote(bucket, safe="")}/o/{quote(name, safe="")}'


def _as_prefix(name: str) -> str:
    return f'{name}/' if name else ''


def _parts(name: str) -> List[str]:
    """Components for a local path; a name that is none, such as one with `..`, becomes a single component."""
    parts = name.split('/')
    is_plain = all(part not in ('', '.', '..') and len(part.encode()) < 256 for part in parts)
    return parts if is_plain else [quote(name, safe='')[:200]]
