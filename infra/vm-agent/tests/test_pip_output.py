import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.setup.pip_output import describe_conflict, describe_missing, find_nearest, find_unreachable_host

PYTHON = f'Python {sys.version_info[0]}.{sys.version_info[1]}'


class UnreachableHostTest(unittest.TestCase):
    def test_is_named_by_the_last_error_of_pip_and_of_git(self) -> None:
        pip = (
            "ERROR: Could not install packages due to an OSError: HTTPSConnectionPool(host='github.com', port=443): Max "
            "retries exceeded with url: /x.whl (Caused by {}('<pip._vendor.urllib3.connection.HTTPSConnection object at "
            "0x7f5d>: Failed to establish a new connection: [Errno 110] Connection timed out'))"
        )
        for line, host in (
            (pip.format('NewConnectionError'), 'github.com'),
            (pip.format('ConnectTimeoutError'), 'github.com'),
            (pip.format('ResponseError'), ''),
            (pip.format('SSLError'), ''),
            ("  fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com", 'github.com'),
            (
                "fatal: unable to access 'https://git.example/a/': Failed to connect to git.example port 443 after 1 ms",
                'git.example',
            ),
            ("fatal: unable to access 'https://github.com/a/b/': The requested URL returned error: 503", ''),
            ("WARNING: Retrying after connection broken by 'NewConnectionError(github.com)': /x.whl", ''),
        ):
            self.assertEqual(find_unreachable_host(['Collecting x', line, 'note: see above']), host, line)


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
