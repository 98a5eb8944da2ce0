import random
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.storage.transfer.crc32c import FOLD_BYTES, POLYNOMIAL, concatenate, decode, encode, extend_in_python

CHECK_VALUE = 0xE3069283
"""The checksum of '123456789', as in the catalog of parametrized CRC algorithms."""
SPEED_BYTES_PER_SECOND_MIN = 60_000_000


def divide_bit_by_bit(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (POLYNOMIAL if register & 1 else 0)
    return register ^ 0xFFFFFFFF


class Crc32cTest(unittest.TestCase):
    def test_has_the_check_value_of_its_definition(self) -> None:
        self.assertEqual(extend_in_python(0, b'123456789'), CHECK_VALUE)
        self.assertEqual(extend_in_python(extend_in_python(0, b'12345'), b'6789'), CHECK_VALUE)
        self.assertEqual(extend_in_python(0, b''), 0)

    def test_equals_the_division_bit_by_bit_for_every_size(self) -> None:
        draw = random.Random(7)
        for size_bytes in (1, 7, 1_023, 1_024, 1_025, 4_096, 20_003):
            data = draw.randbytes(size_bytes)
            with self.subTest(size_bytes):
                self.assertEqual(extend_in_python(0, data), divide_bit_by_bit(data))

    def test_is_the_same_however_the_data_are_cut(self) -> None:
        draw = random.Random(8)
        data = draw.randbytes(2 * FOLD_BYTES + 12_345)
        whole = extend_in_python(0, data)
        for cut in (1, 1_023, 1_024, FOLD_BYTES - 1, FOLD_BYTES, FOLD_BYTES + 1, len(data) - 3):
            with self.subTest(cut):
                self.assertEqual(extend_in_python(extend_in_python(0, data[:cut]), data[cut:]), whole)

    def test_of_two_pieces_of_data_follows_from_those_of_each(self) -> None:
        draw = random.Random(9)
        for sizes in ((0, 5), (5, 0), (1, 1), (9, 4_096), (70_000, 3)):
            first, second = (draw.randbytes(size_bytes) for size_bytes in sizes)
            pieces = [(extend_in_python(0, piece), len(piece)) for piece in (first, second)]
            with self.subTest(sizes):
                both = first + second
                self.assertEqual(concatenate(*pieces), (extend_in_python(0, both), len(both)))

    def test_is_encoded_as_cloud_storage_does(self) -> None:
        self.assertEqual(encode(0), 'AAAAAA==')
        self.assertEqual(decode(encode(CHECK_VALUE)), CHECK_VALUE)
        for text in ('', 'AAAA', 'AAAAAAAA', '?'):
            with self.assertRaises(ValueError):
                decode(text)

    def test_is_not_computed_byte_by_byte(self) -> None:
        data = bytes(16 * FOLD_BYTES)
        # The fastest of several: other processes of the machine must not fail the test.
        seconds = []
        for _ in range(5):
            started_at = time.thread_time()
            extend_in_python(0, data)
            seconds.append(time.thread_time() - started_at)
        self.assertGreater(len(data) / min(seconds), SPEED_BYTES_PER_SECOND_MIN)


if __name__ == '__main__':
    unittest.main()
