"""Checks of golden files that hold constants and cases rather than messages."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from vm_agent.metrics.series.series_part import (
    METRICS_KIND,
    SYSTEM_KIND,
    Columns,
    SeriesOrigin,
    encode_columns,
    encode_omitted,
)
from vm_agent.program.gpu_faults import GpuFaults

GOLDEN = Path(__file__).resolve().parents[3] / 'shared' / 'protocol' / 'golden'


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text('utf-8'))


def check_hardware_xids(test: unittest.TestCase, name: str) -> None:
    with tempfile.NamedTemporaryFile('w') as log:
        found = []
        for xid in range(200):
            log.truncate(0)
            log.seek(0)
            log.write(f'3,1,1000,-;NVRM: Xid (PCI:0000:00:04.0): {xid}, pid=1, name=python3, fallen\n')
            log.flush()
            faults = GpuFaults(1, log.name)
            faults.find_lost()
            found += [xid] if faults.lines else []
    test.assertEqual(found, golden(name))


def check_series_part(test: unittest.TestCase, name: str) -> None:
    body = golden(name)
    for part in body['parts']:
        origin = SeriesOrigin(part['attempt'], part['replica'], part['boot'])
        kind = SYSTEM_KIND if part['kind'] == 'SYSTEM' else METRICS_KIND
        test.assertEqual(origin.part_name(part['number'], kind), part['name'])
    for line in body['lines']:
        columns = Columns(line['steps'], line['times'], [float(value) for value in line['values']])
        test.assertEqual(encode_columns(line['name'], columns), f'{line["line"]}\n'.encode())
    omitted = body['omitted']
    test.assertEqual(encode_omitted(omitted['series'], omitted['points']), f'{omitted["line"]}\n'.encode())
