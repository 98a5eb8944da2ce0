"""
Metrics in the tables that programs print: a row of names and rows of numbers (fastai, YOLO), and Stable-Baselines3's
box.
"""

import re
from typing import Dict, List, Optional, Tuple

from vm_agent.metrics.samples.metric_names import is_loss, is_metric

CELLS = re.compile(r'\s{2,}|\t|\s*\|\s*')
NAME = re.compile(r'[A-Za-z][\w./() @-]{0,40}$')
NUMBER = re.compile(r'[-+]?(?:\d{1,30}(?:\.\d{0,30})?(?:[eE][-+]?\d{1,4})?|nan|inf)$', re.IGNORECASE)
COLUMNS_MIN, COLUMNS_MAX = 3, 40
# YOLO's columns are losses without the word.
YOLO_COLUMN = 'gpu_mem'
YOLO_LOSSES = ('box', 'obj', 'cls', 'dfl', 'seg', 'total')
COUNTER_NAMES = ('epoch', 'step', 'iter', 'iteration')
BOX_LINE = re.compile(r'^\|\s(?P<indent>\s{0,8})(?P<name>[A-Za-z][\w/ .-]{0,60}?)\s{0,60}\|\s{0,20}(?P<value>\S{0,32})\s{0,60}\|$')
BOX_EDGE = re.compile(r'^-{8,400}$')
BOX_LINES_MAX = 200


class LogTables:
    """Reads one line after another. Not thread-safe."""

    def __init__(self) -> None:
        self._names: List[str] = []
        self._section = ''
        self._box: Dict[str, str] = {}

    def read(self, line: str) -> Optional[Tuple[Dict[str, str], Optional[float]]]:
        """
        Returns the metrics that the line completes, as texts by their names, and their step; None for any other line.
        """
        if line[:1] in '|-' and (BOX_LINE.match(line) or BOX_EDGE.match(line)):
            return self._read_box(line)
        line = line[:1_000]
        cells = line.split(',') if ',' in line and ' ' not in line else CELLS.split(line.strip(' |\t'))
        cells = [cell for cell in cells if cell]
        if len(cells) < COLUMNS_MIN:
            return None
        if all(NAME.match(cell) for cell in cells[:COLUMNS_MAX]):
            if any(cell.lower() == YOLO_COLUMN for cell in cells):
                cells = [f'{cell}_loss' if cell in YOLO_LOSSES else cell for cell in cells]
            # A sentence has no name of a loss between two gaps.
            self._names = cells[:COLUMNS_MAX] if any(is_loss(cell) for cell in cells) else self._names
            return None
        # Further cells are those of a bar; the index of a data frame would shift the names.
        is_row = len(cells) == len(self._names) or (len(cells) > len(self._names) > 0 and '%|' in line)
        return self._read_row(cells) if is_row else None

    def _read_row(self, cells: List[str]) -> Optional[Tuple[Dict[str, str], Optional[float]]]:
        row = dict(zip(self._names, cells))
        values = {name: text for name, text in row.items() if is_metric(name, text, False) and NUMBER.match(text)}
        expected = sum(is_metric(name, '0.5', False) for name in self._names)
        counter = next((text for name, text in row.items() if name.lower() in COUNTER_NAMES), '0').partition('/')[0]
        # A row of another table has no such counter, or is shifted by an index.
        if not counter.isdigit() or 2 * len(values) < expected or not any(is_loss(name) for name in values):
            return None
        return values, float(counter) if any(name.lower() in COUNTER_NAMES for name in row) else None

    def _read_box(self, line: str) -> Optional[Tuple[Dict[str, str], Optional[float]]]:
        cell = BOX_LINE.match(line)
        if cell is not None:
            if cell['value'] == '':
                self._section = cell['name'] if cell['name'].endswith('/') else ''
            elif len(self._box) < BOX_LINES_MAX:
                self._box[(self._section if cell['indent'] else '') + cell['name']] = cell['value']
            return None
        box, self._box, self._section = self._box, {}, ''
        step = box.get('time/total_timesteps', box.get('total_timesteps', ''))
        values = {name: text for name, text in box.items() if is_metric(name, text, False) and NUMBER.match(text)}
        return (values, float(step) if step.isdigit() else None) if values else None
