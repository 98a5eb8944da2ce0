import ast
import json
import os
import signal
import sys
import tempfile
import threading
import unittest
from dataclasses import fields, replace
from pathlib import Path
from typing import Set

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.control.config import Limits, ProgramOptions
from vm_agent.control.decisions import (
    ProgramEnd,
    Readings,
    StopNotice,
    check_limits,
    describe_end,
    grace_seconds,
)
from vm_agent.control.machine_notices import (
    is_terminating,
    parse_preempted,
    seconds_until_window,
    stop_lead_seconds,
)
from vm_agent.control.state_file import State, StateFile
from vm_agent.control.stop_signal import StopSignal
from vm_agent.program.exit_report import ExitReport

LIMITS = Limits(
    max_running_seconds=100,
    setup_seconds=50,
    stop_grace_seconds=20,
    final_save_seconds=30,
    earlier_save_seconds=0,
    preemption_notice_seconds=120,
    control_plane_timeout_seconds=600,
    upload_seconds=1800,
    disk_bytes_max=1000,
    log_bytes_max=1000,
    disk_setting='bootDiskSizeGb',
    keep_on_failure_seconds=0.0,
)
END = ProgramEnd(return_code=0, notice=None, stderr=(), stdout=('last line',), was_out_of_memory=False)


CONTROL = Path(__file__).resolve().parents[1] / 'vm_agent' / 'control'
LAUNCHERS = ('python_launcher.py', 'container_launcher.py')


def options_in(path: Path) -> Set[str]:
    """The options that a module reads, as `config.options.NAME` or `options.NAME`."""
    read = set()
    for node in ast.walk(ast.parse(path.read_text('utf-8'))):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, 'id', '')
            read.update([node.attr] if name == 'options' else [])
    return read


class ProgramOptionsTest(unittest.TestCase):
    def test_each_option_is_applied_to_modules_and_containers_alike(self) -> None:
        by_launcher = [options_in(CONTROL / name) for name in LAUNCHERS]
        self.assertEqual(*by_launcher)
        modules = [path for path in [*CONTROL.glob('*.py'), CONTROL.parent / 'main.py'] if path.name != 'config.py']
        applied = set().union(*map(options_in, modules))
        self.assertEqual(applied, {field.name for field in fields(ProgramOptions)})


class LimitsTest(unittest.TestCase):
    def test_stops_when_a_limit_is_exceeded_and_not_when_it_is_reached(self) -> None:
        at_limits = Readings(unanswered_seconds=600, running_seconds=100, disk_bytes=1000)
        self.assertIsNone(check_limits(LIMITS, at_limits))
        for change, reason in (
            ({'unanswered_seconds': 601}, 'STOPPED'),
            ({'running_seconds': 101}, 'MAX_RUNNING_TIME'),
            ({'disk_bytes': 1001}, 'DISK_FULL'),
        ):
            notice = check_limits(LIMITS, replace(at_limits, **change))
            self.assertEqual(notice and notice.reason, reason)

    def test_a_full_disk_names_the_setting_that_limits_it(self) -> None:
        full = Readings(unanswered_seconds=0, running_seconds=1, disk_bytes=1001)
        for setting, words in (('bootDiskSizeGb', 'Request a larger boot disk'), ('diskBytesMax', 'Raise diskBytesMax')):
            notice = check_limits(replace(LIMITS, disk_setting=setting), full)
            self.assertIn(words, notice.message if notice else '')

    def test_does_not_limit_the_running_time_of_the_agents_own_tools(self) -> None:
        self.assertIsNone(check_limits(LIMITS, Readings(0, None, 0)))

    def test_the_grace_period_is_the_notice_less_the_final_save(self) -> None:
        for seconds_left, expected_seconds in ((120, 90), (61, 31), (60, 30), (30, 15), (5, 2.5)):
            notice = StopNotice('PREEMPTED', '', seconds_left)
            self.assertEqual(grace_seconds(notice, LIMITS), expected_seconds)

    def test_the_grace_period_is_the_default_if_the_time_until_the_shutdown_is_unknown(self) -> None:
        for reason in ('PREEMPTED', 'STOPPED'):
            self.assertEqual(grace_seconds(StopNotice(reason, ''), LIMITS), 20)

    def test_stops_for_preemption_and_terminating_maintenance_only(self) -> None:
        self.assertEqual([parse_preempted(value, 120) is None for value in ('TRUE', 'FALSE')], [False, True])
        values = ('TERMINATE_ON_HOST_MAINTENANCE', 'MIGRATE_ON_HOST_MAINTENANCE', 'NONE')
        self.assertEqual([is_terminating(value) for value in values], [True, False, False])

    def test_stops_the_program_five_minutes_before_maintenance_or_at_half_of_a_short_notice(self) -> None:
        for seconds_left, expected_seconds in ((3_600, 300), (600, 300), (60, 30), (0, 0)):
            self.assertEqual(stop_lead_seconds(seconds_left), expected_seconds)

    def test_maintenance_begins_at_its_window_if_there_is_one_within_the_notice(self) -> None:
        now = 1_795_345_200.0
        for upcoming, expected_seconds in (
            ('{"windowStartTime": "2026-11-22T11:30:00Z"}', 1_800),
            ('{"window_start_time": "2026-11-22T11:30:00+00:00"}', 1_800),
            ('{"windowStartTime": "2026-11-22T10:00:00Z"}', 0),
            ('{"windowStartTime": "2026-11-25T10:00:00Z"}', 3_600),
            ('{"maintenanceStatus": "PENDING"}', 3_600),
            ('[]', 3_600),
            ('', 3_600),
        ):
            with self.subTest(upcoming):
                self.assertEqual(seconds_until_window(upcoming, now, 3_600), expected_seconds)


class EndTest(unittest.TestCase):
    def test_classifies_the_end_of_the_program(self) -> None:
        for change, reason, exit_code, number in (
            ({}, 'EXITED', 0, None),
            ({'return_code': 3}, 'EXITED', 3, None),
            ({'return_code': -11}, 'EXITED', None, 11),
            ({'return_code': -9}, 'EXITED', None, 9),
            ({'return_code': -9, 'was_out_of_memory': True}, 'OUT_OF_MEMORY', None, 9),
            ({'return_code': 1, 'was_out_of_memory': True}, 'EXITED', 1, None),
            ({'return_code': 1, 'stderr': ('OSError: [Errno 28] No space left on device',)}, 'EXITED', 1, None),
            ({'return_code': 0, 'stderr': ('No space left on device',)}, 'EXITED', 0, None),
            ({'return_code': 0, 'notice': StopNotice('PREEMPTED', 'notice')}, 'PREEMPTED', 0, None),
        ):
            with self.subTest(change):
                report = describe_end(replace(END, **change))
                self.assertEqual((report.reason, report.exit_code, report.signal), (reason, exit_code, number))

    def test_the_evidence_is_stderr_or_stdout_if_stderr_is_blank(self) -> None:
        self.assertEqual(describe_end(replace(END, stderr=('error',))).evidence, ('error',))
        self.assertEqual(describe_end(replace(END, stderr=('', ' '))).evidence, ('last line',))


    def test_the_evidence_has_earlier_errors_of_both_streams_and_the_kernel_before_the_end_of_stderr(self) -> None:
        end = replace(
            END,
            return_code=1,
            stderr=tuple(f'warning {number}' for number in range(60)),
            stdout_errors=('RuntimeError: CUDA out of memory.',),
            stderr_errors=('ValueError: the root', 'warning 59'),
            kernel=('kernel: NVRM: Xid (PCI:0000:00:04): 79',),
        )
        evidence = describe_end(end).to_json()['evidence']
        root = ['kernel: NVRM: Xid (PCI:0000:00:04): 79', 'RuntimeError: CUDA out of memory.', 'ValueError: the root']
        self.assertEqual(evidence[:3], root)
        self.assertEqual(evidence[3:], [f'warning {number}' for number in range(23, 60)])

    def test_errors_that_were_none_do_not_displace_the_last_exception(self) -> None:
        noise = tuple(f'\x1b[31m06:00:{number:02} ERROR shard {number} is slow\x1b[0m' for number in range(120))
        failure = ('Traceback (most recent call last):', 'KeyError: 3')
        end = replace(END, return_code=1, stderr=(*failure, *noise, 'This is not an error.'), stderr_errors=failure)
        evidence = describe_end(end).to_json()['evidence']
        self.assertEqual(evidence[:2], list(failure))
        self.assertEqual(evidence[2], '… 118 similar lines')
        self.assertEqual((len(evidence), [line for line in evidence if '\x1b' in line]), (6, []))

    def test_long_lines_at_the_end_leave_room_for_the_root(self) -> None:
        lines = tuple('x' * 5_000 + str(number) for number in range(60))
        end = replace(END, return_code=1, stderr=lines, stderr_errors=('ValueError: the root',) * 8)
        evidence = describe_end(end).to_json()['evidence']
        self.assertEqual(evidence[0], 'ValueError: the root')
        self.assertLessEqual(len(json.dumps(evidence)), 40_960)
        self.assertGreater(len(evidence), 5)


class BootTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name, 'state.json')

    def test_sequence_numbers_grow_across_boots(self) -> None:
        first = StateFile(self.path).open_boot('job', 1)
        second = StateFile(self.path).open_boot('job', 1)
        self.assertEqual((first.boot, second.boot), (0, 1))
        self.assertGreater(second.first_sequence, first.first_sequence + 100_000)

    def test_reads_back_what_it_wrote(self) -> None:
        state = StateFile(self.path).open_boot('job', 1)
        report = ExitReport('EXITED', 'done', exit_code=0, evidence=('line',))
        written = replace(state, import_roots=('/a',), exit=report, program_started_at=12.5)
        StateFile(self.path).write(written)
        self.assertEqual(StateFile(self.path).open_boot('job', 1), replace(written, boot=1))

    def test_starts_with_a_new_state_for_another_attempt_and_after_a_damaged_file(self) -> None:
        StateFile(self.path).write(State('job', 1, boot=5, is_restored=True))
        self.assertEqual(StateFile(self.path).open_boot('job', 2), State('job', 2))
        self.path.write_text('{"job_id": "jo')
        self.assertEqual(StateFile(self.path).open_boot('job', 2), State('job', 2))


class StopSignalTest(unittest.TestCase):
    def test_keeps_the_first_reason(self) -> None:
        stop_signal = StopSignal()
        stop_signal.request_stop(StopNotice('PREEMPTED', 'first'))
        stop_signal.request_stop(StopNotice('STOPPED', 'second'))
        self.assertTrue(stop_signal.requested.wait(10))
        self.assertEqual(stop_signal.notice, StopNotice('PREEMPTED', 'first'))

    def test_announces_an_interruption_of_the_machine_and_no_other_stop(self) -> None:
        stop_signal = StopSignal()
        announced = threading.Event()
        stop_signal.on_interruption.append(announced.set)
        stop_signal.request_stop(StopNotice('STOPPED', 'by the control plane'))
        self.assertTrue(stop_signal.requested.wait(10))
        self.assertIsNone(stop_signal.interruption)
        stop_signal.request_stop(StopNotice('PREEMPTED', 'preempted', 30.0, is_interruption=True))
        self.assertTrue(announced.wait(10))
        interruption = stop_signal.interruption
        assert interruption is not None and interruption.seconds_left is not None
        self.assertEqual((interruption.message, interruption.is_stopping), ('preempted', True))
        self.assertTrue(20 < interruption.seconds_left <= 30)

    def test_a_termination_signal_requests_a_stop(self) -> None:
        before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
        try:
            stop_signal = StopSignal()
            stop_signal.handle_termination_signals(lambda: StopNotice('STOPPED', 'shut down'))
            os.kill(os.getpid(), signal.SIGTERM)
            self.assertTrue(stop_signal.requested.wait(10))
            self.assertEqual(stop_signal.notice, StopNotice('STOPPED', 'shut down'))
        finally:
            for number, handler in before:
                signal.signal(number, handler)


if __name__ == '__main__':
    unittest.main()
