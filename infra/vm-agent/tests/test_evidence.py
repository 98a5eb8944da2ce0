import time
import unittest

from vm_agent.program.evidence import clean_evidence
from vm_agent.program.saved_uris import find_output_arguments, find_saved_uris, find_written_paths, is_outside


class CleanEvidenceTest(unittest.TestCase):
    def test_removes_escapes_and_control_characters(self) -> None:
        lines = ['\x1b[31mValueError\x1b[0m: bad\x07', '\x1b]0;title\x07epoch\t1', '\x1b[1;38;5;9m', '\x00']
        self.assertEqual(clean_evidence(lines), ['ValueError: bad', 'epoch\t1'])

    def test_leaves_out_the_notices_of_pip(self) -> None:
        lines = [
            "WARNING: Location '/wheels' is ignored: it is either a non-existing path or lacks a specific scheme.",
            'Looking in indexes: https://pypi.org/simple',
            'Requirement already satisfied: numpy in /opt/python',
            '[notice] A new release of pip is available: 24.0 -> 25.0',
            'ERROR: No matching distribution found for einops==99',
        ]
        self.assertEqual(clean_evidence(lines), lines[-1:])

    def test_shortens_a_run_of_similar_errors_and_keeps_the_failure_after_it(self) -> None:
        noise = [f'2026-11-27 06:00:{number:02} ERROR retrying shard {number}' for number in range(120)]
        failure = ['Traceback (most recent call last):', '  File "task.py", line 3, in <module>', 'KeyError: 3']
        self.assertEqual(clean_evidence([*noise, *failure]), ['… 118 similar lines', *noise[-2:], *failure])

    def test_keeps_frames_and_steps_that_differ_only_in_numbers(self) -> None:
        lines = [f'  File "task.py", line {number}, in <module>' for number in range(5)]
        lines += [f'step {number}: loss 0.5' for number in range(5)]
        self.assertEqual(clean_evidence(lines), lines)


class SavedUrisTest(unittest.TestCase):
    def test_finds_where_lines_say_that_something_was_saved(self) -> None:
        for line, uris in (
            ('Saved the model to gs://mine/models/1.', ('gs://mine/models/1.',)),
            ('INFO: Uploading model.pkl to "gs://mine/m.pkl"', ('gs://mine/m.pkl',)),
            ('Wrote 3 files (gs://mine/a)', ('gs://mine/a',)),
            ('Copying model.pkl to gs://mine/m', ('gs://mine/m',)),
            ('Reading data from gs://mine/data', ()),
            ('Saved the data from gs://mine/data', ()),
            ('Copying gs://mine/data to /tmp', ()),
            ('args: gs://mine/data', ()),
        ):
            with self.subTest(line):
                self.assertEqual(find_saved_uris([line]), uris)

    def test_finds_arguments_that_name_a_place_of_results(self) -> None:
        for args, uris in (
            (['--output-dir', 'gs://mine/out', '--epochs=3'], ('gs://mine/out',)),
            (['--model_dir=gs://mine/out'], ('gs://mine/out',)),
            (['trainer.checkpoint_path=gs://mine/out'], ('gs://mine/out',)),
            (['--data-dir', 'gs://mine/in', '--input-path=gs://mine/in'], ()),
            (['--pretrained-model-path', 'gs://mine/in', '--model', 'gs://mine/in'], ()),
            (['--output-dir', '/tmp/out'], ()),
        ):
            with self.subTest(args):
                self.assertEqual(find_output_arguments(args), uris)

    def test_finds_paths_that_are_certainly_written_in_arguments_and_variables(self) -> None:
        args = ['--output-dir', '/gcs/mine/out', '--model-dir=gs://mine/read', '--logdir=gs://mine/logs', '--save_path=/tmp']
        variables = {'RESULTS_DIR': 'gs://mine/results', 'SAVED_MODEL_DIR': 'gs://mine/read', 'CATALOG_URL': 'gs://mine/c'}
        self.assertEqual(
            sorted(find_written_paths(args, variables)),
            [('--logdir', 'gs://mine/logs'), ('--output-dir', '/gcs/mine/out'), ('RESULTS_DIR', 'gs://mine/results')],
        )

    def test_hostile_arguments_and_lines_take_no_time(self) -> None:
        began_at = time.process_time()
        find_output_arguments(['--' + 'a_' * 45 + 'x', 'gs://b/x'])
        find_saved_uris(['copied to ' * 100_000])
        self.assertLess(time.process_time() - began_at, 1)

    def test_knows_what_is_outside_of_the_job_directory(self) -> None:
        for uri, expected in (('gs://jobs/a/model', False), ('gs://jobs/a', False), ('gs://jobs/ab', True)):
            self.assertEqual(is_outside(uri, 'gs://jobs/a/'), expected)


if __name__ == '__main__':
    unittest.main()
