import sys
import threading
import unittest
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.http.request_limit import RequestLimit
from vm_agent.http.retry import ChildEvent, TransientError
from vm_agent.storage.transfer.transfer_pool import TransferPool


class TransferPoolTest(unittest.TestCase):
    def test_returns_results_in_order_and_allows_calls_that_use_the_pool_themselves(self) -> None:
        pool = TransferPool(2)

        def outer(number: int) -> List[int]:
            return pool.map(lambda inner: 10 * number + inner, range(5))

        expected = [[10 * number + inner for inner in range(5)] for number in range(20)]
        self.assertEqual(pool.map(outer, range(20)), expected)
        self.assertEqual(pool.map(outer, []), [])

    def test_runs_as_many_calls_at_once_as_it_has_threads_and_the_caller(self) -> None:
        pool, together, lock = TransferPool(3), threading.Barrier(4, timeout=30), threading.Lock()
        counts: List[int] = []
        running: List[int] = []

        def call(number: int) -> None:
            with lock:
                running.append(number)
                counts.append(len(running))
            together.wait()
            with lock:
                running.remove(number)
            together.wait()

        pool.map(call, range(8))
        self.assertEqual(max(counts), 4)

    def test_starts_nothing_after_an_error_and_raises_it_when_the_running_calls_have_ended(self) -> None:
        started: List[int] = []

        def call(number: int) -> None:
            started.append(number)
            raise ValueError(number)

        with self.assertRaises(ValueError):
            TransferPool(1).map(call, range(1_000))
        self.assertLess(len(started), 3)


class RequestLimitTest(unittest.TestCase):
    def setUp(self) -> None:
        self.limit = RequestLimit(8)

    def send_and_fail(self, error: TransientError) -> None:
        with self.assertRaises(TransientError), self.limit.slot():
            raise error

    def test_halves_when_the_service_is_overloaded_and_grows_again_with_each_success(self) -> None:
        for expected in (4, 2, 1, 1):
            self.send_and_fail(TransientError('slow down', is_overload=True))
            self.assertEqual(self.limit.current, expected)
        for _ in range(100):
            with self.limit.slot():
                pass
        self.assertEqual(self.limit.current, 8)

    def test_halves_once_for_requests_that_were_sent_together(self) -> None:
        def overload() -> None:
            with self.limit.slot():
                self.send_and_fail(TransientError('slow down', is_overload=True))
                raise TransientError('slow down', is_overload=True)

        with self.assertRaises(TransientError):
            overload()
        self.assertEqual(self.limit.current, 4)

    def test_is_not_changed_by_other_failures(self) -> None:
        self.send_and_fail(TransientError('no connection'))
        self.assertEqual(self.limit.current, 8)


class ChildEventTest(unittest.TestCase):
    def test_ends_a_wait_when_it_or_its_parent_is_set(self) -> None:
        parent = threading.Event()
        child = ChildEvent(parent)
        self.assertFalse(child.wait(0.01))
        threading.Timer(0.05, parent.set).start()
        self.assertTrue(child.wait(30))
        child = ChildEvent(threading.Event())
        child.set()
        self.assertTrue(child.wait())


if __name__ == '__main__':
    unittest.main()
