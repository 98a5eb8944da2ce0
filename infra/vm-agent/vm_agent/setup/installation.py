"""
Makes the job's packages importable. The machine image's packages come first; an index is used only for what is missing,
and only if the cache does not have an environment with the same requirements.

Measured where the default index is unreachable: pip alone spends 24 s on retries for the build requirements of a
package that needs nothing; this module installs the same package in well under a second.
"""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional, Sequence

from vm_agent.cache.environment_cache import EnvironmentCache
from vm_agent.cache.files import NotCacheable, describe_environment, list_distributions, site_packages
from vm_agent.cache.key import Installation, environment_key
from vm_agent.cache.store import Store
from vm_agent.program.evidence import clean_evidence
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.setup.installers import InstallPaths, Pip, RunTool, ToolResult, find_uv
from vm_agent.setup.own_packages import OwnPackages, UnreadableWheel, read_own_packages, unpack_plain_wheel
from vm_agent.setup.package_index import Indexes, probe_indexes
from vm_agent.setup.package_plan import PackagePlan, Targets
from vm_agent.setup.pip_output import describe_conflict, describe_missing, find_unreachable_host
from vm_agent.setup.virtual_environment import create_venv

GOOGLE_HOSTS = ('.pkg.dev', '.googleapis.com')
# pip's messages for a missing requirement, from resolving and from building.
MISSING_PATTERNS = (
    r'No matching distribution found for ([^\n]+)',
    r'Could not find a version that satisfies the requirement ([^\n(]+)',
    r"No module named '?([\w.]+)'?",
    r"Cannot import '([\w.]+)'",
    r"invalid command '(bdist_wheel)'",
)


@dataclass(frozen=True)
class Installed:
    store: Optional[Store]
    """Stores the new environment in the cache; None if there is nothing to store."""
    seconds: float


@dataclass(frozen=True)
class Installer:
    """Installs one job's packages."""

    paths: InstallPaths
    run_tool: RunTool
    cache: Optional[EnvironmentCache]
    """None if the deployment or the job does not use it."""
    log: Callable[[str, str], None]

    def install(self, plan: PackagePlan) -> Installed:
        """
        Installs the packages into a virtual environment that includes the image's packages. Raises ReplicaEnded with
        INSTALL_FAILED, which names the requirement, or SERVICE_UNREACHABLE.
        """
        started_at = time.monotonic()
        create_venv(self.paths.venv)
        store = self._install(plan.targets) if plan.targets.paths else None
        return Installed(store, time.monotonic() - started_at)

    @property
    def _pip(self) -> Pip:
        return Pip(self.paths.python, self.run_tool)

    def _install(self, targets: Targets) -> Optional[Store]:
        own = None if self.cache is None else self._build_own_packages(targets)
        if self.cache is None or own is None:
            self._install_with_index(targets)
            return None
        built = Targets(list(map(str, own.wheels)), requirements=list(own.requirements))
        if not own.requirements and self._install_own_packages(own):
            return None
        normalized = own.normalized_requirements()
        if normalized is None:
            self.log('The environment is not cached: a requirement is a URL, a path or an option of pip.', 'INFO')
        if not normalized:
            self._install_with_index(built)
            return None
        key = environment_key(Installation(normalized, own.names, self.paths.environment))
        if self.cache.restore(key, self.paths.venv, create_venv):
            if self._install_own_packages(own):
                return None
            create_venv(self.paths.venv)
        return self._install_and_describe(built, own, key)

    def _install_and_describe(self, built: Targets, own: OwnPackages, key: str) -> Optional[Store]:
        assert self.cache is not None
        before = list_distributions(self.paths.venv)
        self._install_with_index(built)
        if not self.cache.may_store:
            return None
        added = list_distributions(self.paths.venv) - before
        try:
            environment = describe_environment(self.paths.venv, added, own.names)
        except NotCacheable as error:
            self.log(f'The environment is not stored in the cache: {error}.', 'INFO')
            return None
        return self.cache.store(key, environment) if environment.distributions else None

    def _build_own_packages(self, targets: Targets) -> Optional[OwnPackages]:
        """Returns None if that fails: then pip is run as if there were no cache, and reports the error."""
        wheels = [Path(wheel) for wheel in targets.wheels]
        folder = self.paths.built_wheels
        if targets.trees:
            self._ensure_pip()
            if not self._build_wheels(targets, folder):
                return None
            wheels += sorted(folder.glob('*.whl'))
        try:
            return read_own_packages(wheels, targets.requirements)
        except UnreadableWheel:
            return None

    def _build_wheels(self, targets: Targets, folder: Path) -> bool:
        if targets.is_buildable:
            return self._pip.build_wheels(targets.trees, folder).exit_code == 0
        indexes = probe_indexes(self.paths.python, self.paths.environment)
        return bool(indexes.reachable) and self._pip.build_isolated(targets.trees, folder, indexes).exit_code == 0

    def _install_own_packages(self, own: OwnPackages) -> bool:
        """Into an environment that has everything that they require."""
        built, library = self.paths.built_wheels, site_packages(self.paths.venv)
        left = [wheel for wheel in own.wheels if wheel.parent != built or not unpack_plain_wheel(wheel, library)]
        return not left or self._pip.install_alone([str(wheel) for wheel in left]).exit_code == 0

    def _install_with_index(self, targets: Targets) -> None:
        started_at = time.monotonic()
        before = list_distributions(self.paths.venv)
        name = self._install_offline_or_online(targets)
        count = len(list_distributions(self.paths.venv) - before)
        if count > 0:
            packages = '1 package' if count == 1 else f'{count} packages'
            self.log(f'Installed {packages} with {name} in {time.monotonic() - started_at:.1f} s.', 'INFO')

    def _install_offline_or_online(self, targets: Targets) -> str:
        """Returns the name of the installer that succeeded."""
        self._ensure_pip()
        # A build that is bound to fail offline would put a misleading error into the log.
        indexes = None if targets.is_buildable else probe_indexes(self.paths.python, self.paths.environment)
        if indexes is None or not indexes.reachable:
            offline = self._pip.install_offline(targets.paths)
            missing = None if offline.exit_code == 0 else find_missing(offline.lines)
            if missing is not None:
                indexes = indexes or probe_indexes(self.paths.python, self.paths.environment)
            if missing is None or indexes is None or not indexes.reachable:
                return self._end_offline(offline, missing, indexes)
            # pip's errors are not shown, because the index may have what is missing.
            self.log(f'The machine image lacks {missing}, so a package index is used.', 'INFO')
        if self._install_with_uv(targets, indexes):
            return 'uv'
        online = self._pip.install(targets.paths, indexes)
        if online.exit_code != 0:
            raise _missing(online, indexes)
        return 'pip'

    def _end_offline(self, offline: ToolResult, missing: Optional[str], indexes: Optional[Indexes]) -> str:
        """The attempt without an index is the last one: logs it, and raises ReplicaEnded if it has failed."""
        for line in clean_evidence(offline.lines):
            self.log(line, 'INFO')
        if offline.exit_code == 0:
            return 'pip'
        if missing is None or indexes is None:
            raise _failure(f'pip could not install the package: {find_error(offline.lines)}', offline, '')
        raise _missing(offline, indexes)

    def _install_with_uv(self, targets: Targets, indexes: Indexes) -> bool:
        """Whatever uv cannot do is left to pip, whose errors are those that users know."""
        uv = find_uv(self.paths, self.run_tool) if indexes.is_complete else None
        if uv is None:
            return False
        result = uv.install(targets.paths, indexes)
        return result is not None and result.exit_code == 0

    def _ensure_pip(self) -> None:
        if not self._pip.is_installed():
            ensured = self._pip.ensure()
            if ensured.exit_code != 0:
                raise _failure('The machine image has no pip, and ensurepip could not install it.', ensured, '')


def find_missing(lines: Sequence[str]) -> Optional[str]:
    """Returns the requirement that pip did not find, or None if it failed for another reason."""
    text = '\n'.join(lines)
    for pattern in MISSING_PATTERNS:
        found = re.search(pattern, text)
        if found:
            return found.group(1).split(' (from')[0].strip().rstrip('.')
    return None


def find_error(lines: Sequence[str]) -> str:
    """Returns the most specific line about a failure: the last exception, else the last error, else the last line."""
    exceptions = [line.strip() for line in lines if re.match(r'\s*[\w.]*(Error|Exception)\b.*:', line)]
    errors = [line.strip() for line in lines if re.match(r'\s*(ERROR|error):', line)]
    return (exceptions or errors or [line.strip() for line in lines if line.strip()] or ['pip printed nothing'])[-1]


def _missing(result: ToolResult, indexes: Indexes) -> ReplicaEnded:
    missing = find_missing(result.lines)
    conflict = describe_conflict(result.lines)
    reason = conflict or (describe_missing(missing, result.lines) if missing else find_error(result.lines))
    remark, host = indexes.describe_unreachable(), indexes.unreachable_host()
    return _failure(f'pip could not install the package: {reason}.', result, remark, host)


def _failure(message: str, result: ToolResult, remark: str, host: str = '') -> ReplicaEnded:
    """A host outside of Google that this VM does not reach may be reached by the next one."""
    host = host or find_unreachable_host(result.lines)
    text = f'{message} {remark}'.strip()
    if not host or host.endswith(GOOGLE_HOSTS):
        return ReplicaEnded(ExitReport('INSTALL_FAILED', text, evidence=result.lines))
    return ReplicaEnded(ExitReport('SERVICE_UNREACHABLE', text, evidence=result.lines, unreachable_host=host))
