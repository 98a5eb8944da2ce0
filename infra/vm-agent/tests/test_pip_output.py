import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.setup.pip_output import describe_conflict, describe_missing, find_nearest

PYTHON = f'Python {sys.version_info[0]}.{sys.version_info[1]}'


class MissingTest(unittest.TestCase):
    def test_names_the_nearest_version_that_exists(self) -> None:
        lines = [
            'ERROR: Could not find a version that satisfies the requirement tensorflow==2.8.0 '
            '(from versions: 2.12.0rc0, 2.12.0, 2.12.1, 2.20.0, 2.9.3)',
            'ERROR: No matching distribution found for tensorflow==2.8.0',
        ]
        self.assertEqual(
            describe_missing('tensorflow==2.8.0', lines),
            f'requirement tensorflow==2.8.0 is missing: no version of it that exists for {PYTHON} fits. '
            'The nearest one is 2.9.3 (of 2.9.3 to 2.20.0)',
        )

    def test_finds_the_next_higher_version_or_the_highest(self) -> None:
        versions = ['0.1', '1.9.0', '1.10.2', '2.6.0']
        for requirement, nearest in (
            ('torch==1.9.0+cu102', '1.9.0'),
            ('torch==1.10', '1.10.2'),
            ('torch<2.6,>=2.0', '2.6.0'),
            ('torch>=9', '2.6.0'),
            ('torch ~= 0.1.0', '0.1'),
            ('torch', None),
        ):
            self.assertEqual(find_nearest(requirement, versions), nearest, requirement)
        self.assertIsNone(find_nearest('torch==1', []))

    def test_says_only_what_pip_says(self) -> None:
        for line in (
            'ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)',
            'ERROR: No matching distribution found for x==1',
        ):
            self.assertEqual(describe_missing('x==1', [line]), 'requirement x==1 is missing')


class ConflictTest(unittest.TestCase):
    def test_names_the_requirements_that_contradict_each_other(self) -> None:
        lines = [
            'ERROR: Cannot install a and b because these package versions have conflicting dependencies.',
            '',
            'The conflict is caused by:',
            '    ocrfixr 1.5 depends on numpy~=1.19.2',
            '    tensorflow 2.11.0 depends on numpy>=1.20',
            '',
            'To fix this you could try to:',
            'ERROR: ResolutionImpossible: for help visit https://pip.pypa.io',
        ]
        self.assertEqual(
            describe_conflict(lines),
            'requirements contradict each other: '
            'ocrfixr 1.5 depends on numpy~=1.19.2; tensorflow 2.11.0 depends on numpy>=1.20',
        )
        self.assertIsNone(describe_conflict(lines[:1]))


if __name__ == '__main__':
    unittest.main()
