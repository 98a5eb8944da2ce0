"""A heartbeat is never larger than the control plane reads, whatever a program printed and reported."""

import json
import sys
import unittest
from pathlib import Path
from typing import Any, Dict

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.control.heartbeats import BYTES_MAX, encode_heartbeat
from vm_agent.program.exit_report import EVIDENCE_LINES_MAX, LINE_CHARS_MAX, ExitReport


def heartbeat(padding: int) -> Dict[str, Any]:
    """With an exit whose evidence is as large as it may be, a finding, and other fields of `padding` bytes."""
    lines = tuple(f'{number} ' + '\u00e9' * LINE_CHARS_MAX for number in range(EVIDENCE_LINES_MAX))
    exit_report = ExitReport('EXITED', 'The program ended with exit code 1.', exit_code=1, evidence=lines)
    return {'exit': exit_report.to_json(), 'progress': 'p' * padding, 'health': [{'message': 'm' * 5_000}]}


class HeartbeatSizeTest(unittest.TestCase):
    def test_a_small_one_is_sent_whole(self) -> None:
        body = heartbeat(100)
        self.assertEqual(json.loads(encode_heartbeat(body)), heartbeat(100))

    def test_a_large_one_leaves_out_its_findings_first(self) -> None:
        sent = encode_heartbeat(heartbeat(28_000))
        self.assertLessEqual(len(sent), BYTES_MAX)
        self.assertNotIn('health', json.loads(sent))
        self.assertEqual(json.loads(sent)['exit'], heartbeat(0)['exit'])

    def test_a_larger_one_keeps_the_last_lines_of_the_evidence(self) -> None:
        sent = encode_heartbeat(heartbeat(50_000))
        self.assertLessEqual(len(sent), BYTES_MAX)
        evidence = json.loads(sent)['exit']['evidence']
        self.assertTrue(evidence)
        self.assertEqual(evidence, heartbeat(0)['exit']['evidence'][-len(evidence) :])


if __name__ == '__main__':
    unittest.main()
