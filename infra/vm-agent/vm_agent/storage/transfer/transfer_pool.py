"""Calls that run in parallel, on a bounded number of threads."""

import threading
from collections import deque
from typing import Callable, Deque, Generic, Iterable, List, Optional, Tuple, TypeVar

Item = TypeVar('Item')
Result = TypeVar('Result')


class _Batch(Generic[Item, Result]):
    """The calls of one `map`; the pool's lock guards it."""

    def __init__(self, call: Callable[[Item], Result], items: Iterable[Item]) -> None:
        self.call = call
        self.left: Deque[Tuple[int, Item]] = deque(enumerate(items))
        self.results: List[Optional[Result]] = [None] * len(self.left)
        self.running_count = 0
        self.error: Optional[BaseException] = None


class TransferPool:
    """
    Threads that several callers share. A call may itself use the pool, as the parts of a large file do: every caller
    works on its own batch, so that no batch waits for a free thread.
    """

    def __init__(self, threads_max: int) -> None:
        self._threads_max = threads_max
        self._threads_count = 0
        self._batches: List[_Batch] = []
        self._changed = threading.Condition()

    def map(self, call: Callable[[Item], Result], items: Iterable[Item]) -> List[Result]:
        """
        Returns the results in the order of the items. After the first error, starts no further call, and raises it
        when the running ones have ended.
        """
        batch: _Batch[Item, Result] = _Batch(call, items)
        with self._changed:
            self._batches.append(batch)
            self._start_threads(len(batch.left) - 1)
        while self._run_next(batch):
            pass
        with self._changed:
            while batch.running_count > 0:
                self._changed.wait()
            self._batches.remove(batch)
        if batch.error is not None:
            raise batch.error
        return batch.results  # type: ignore[return-value]

    def _start_threads(self, wanted_count: int) -> None:
        for _ in range(min(wanted_count, self._threads_max - self._threads_count)):
            self._threads_count += 1
            threading.Thread(target=self._work, name='transfer', daemon=True).start()

    def _work(self) -> None:
        """Takes calls of the newest batch first: those are the parts of files whose transfer has begun."""
        while True:
            with self._changed:
                batch = next((one for one in reversed(self._batches) if one.left), None)
                if batch is None:
                    self._threads_count -= 1
                    return
            self._run_next(batch)

    def _run_next(self, batch: _Batch) -> bool:
        with self._changed:
            if not batch.left:
                return False
            position, item = batch.left.popleft()
            batch.running_count += 1
        error: Optional[BaseException] = None
        try:
            batch.results[position] = batch.call(item)
        except BaseException as raised:  # noqa: BLE001 - raised again by `map`, in the thread that asked for the call
            error = raised
        with self._changed:
            if error is not None:
                batch.left.clear()
                batch.error = batch.error or error
            batch.running_count -= 1
            if batch.running_count == 0 and not batch.left:
                self._changed.notify_all()
        return True
