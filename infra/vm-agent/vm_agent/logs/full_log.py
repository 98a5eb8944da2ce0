"""The whole output of a replica, compressed on the work disk, in parts that log_upload.py uploads if wanted."""

import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Dict, List, Optional

PART_BYTES_MAX = 8_388_608
# Once parts are uploaded, a VM that ends without notice loses at most this much of the complete log.
PART_SECONDS_MAX = 120.0
# zlib's fastest level: 100 MB/s on one core, which halves most logs at least.
COMPRESSION_LEVEL = 1
GZIP_WINDOW_BITS = 31
WANTED_NAME = 'wanted'


@dataclass
class _OpenPart:
    path: Path
    file: IO[bytes]
    compressor: 'zlib._Compress'
    opened_at: float
    size_bytes: int = 0
    is_flushed: bool = True

    def write(self, data: bytes) -> int:
        """Returns by how many bytes the file has grown."""
        self.size_bytes += len(data)
        return self.file.write(data)


class FullLog:
    """Thread-safe. No method raises for a full disk: what could not be kept is counted."""

    def __init__(self, folder: Path, name: str, bytes_max: int) -> None:
        """`name` is unique to this boot of this replica. `bytes_max` limits the parts on the disk."""
        self._folder = folder
        self._name = name
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._open: Dict[str, _OpenPart] = {}
        self._part_count = 0
        self.lost_bytes = 0
        """Output that is in no part: the disk or its share of it was full."""
        folder.mkdir(parents=True, exist_ok=True)
        # The files of earlier boots, in the order of their names.
        self._sealed: List[Path] = sorted(folder.glob('*.log.gz'))
        self._disk_bytes = sum(path.stat().st_size for path in self._sealed)
        self.is_wanted = (folder / WANTED_NAME).exists()
        """Whether the parts are uploaded."""

    def want(self) -> None:
        """Has the parts uploaded, those of earlier boots too."""
        if not self.is_wanted:
            self.is_wanted = True
            try:
                (self._folder / WANTED_NAME).touch()
            except OSError:
                # It only matters after a reboot.
                return

    def write(self, stream: str, block: bytes) -> None:
        with self._lock:
            if self._disk_bytes > self._bytes_max:
                # Uploading makes room.
                self.want()
                self.lost_bytes += len(block)
                return
            try:
                part = self._open.get(stream) or self._open_part(stream)
                part.is_flushed = False
                self._disk_bytes += part.write(part.compressor.compress(block))
                if part.size_bytes > PART_BYTES_MAX:
                    self._seal(stream)
            except OSError:
                self.lost_bytes += len(block)

    def flush(self) -> None:
        """Writes to the disk what the compressor holds back, and ends parts that are old enough to be uploaded."""
        now = time.monotonic()
        with self._lock:
            for stream, part in list(self._open.items()):
                try:
                    if self.is_wanted and now - part.opened_at > PART_SECONDS_MAX:
                        self._seal(stream)
                    elif not part.is_flushed:
                        self._disk_bytes += part.write(part.compressor.flush(zlib.Z_SYNC_FLUSH))
                        part.file.flush()
                        part.is_flushed = True
                except OSError:
                    continue

    def next_part(self) -> Optional[Path]:
        """Returns the oldest part that has ended and is wanted; None if there is none."""
        with self._lock:
            return self._sealed[0] if self.is_wanted and self._sealed else None

    def remove(self, part: Path) -> None:
        """Deletes a part that is uploaded."""
        with self._lock:
            self._sealed.remove(part)
            self._disk_bytes -= part.stat().st_size
            part.unlink()

    def finish(self) -> None:
        """Ends all parts."""
        with self._lock:
            for stream in list(self._open):
                try:
                    self._seal(stream)
                except OSError:
                    continue

    def _open_part(self, stream: str) -> _OpenPart:
        self._part_count += 1
        path = self._folder / f'{self._name}-{self._part_count:06d}-{stream}.log.gz'
        compressor = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, GZIP_WINDOW_BITS)
        self._open[stream] = part = _OpenPart(path, open(path, 'wb'), compressor, time.monotonic())
        return part

    def _seal(self, stream: str) -> None:
        part = self._open.pop(stream)
        self._sealed.append(part.path)
        with part.file:
            self._disk_bytes += part.write(part.compressor.flush())
