"""This VM's configuration: the metadata attribute `dropforge-config` (shared/protocol/vm-config.ts)."""

import json
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple, Type

from vm_agent.cache.location import CacheLocation
from vm_agent.container.spec import ContainerSpec
from vm_agent.health.policy import Policy, read_policy
from vm_agent.setup.environment import ReplicaSpec
from vm_agent.setup.packages import Package
from vm_agent.storage.client import split_gs_uri

PROTOCOL_VERSION = 2
# The control plane may be one version behind the agent during a rollout.
SUPPORTED_PROTOCOLS = tuple(range(max(1, PROTOCOL_VERSION - 1), PROTOCOL_VERSION + 1))

# By version, the fields that it added, as paths, and their values for a configuration of the version before.
ADDED_FIELDS: Mapping[int, Mapping[Tuple[str, ...], Any]] = {}

# By version, the fields that it renamed, as paths in the version before, and their new names.
RENAMED_FIELDS: Mapping[int, Mapping[Tuple[str, ...], str]] = {
    2: {('limits', 'deadManSeconds'): 'controlPlaneTimeoutSeconds'},
}

# The fields that a configuration of any version may lack, as paths, and their values if it does.
OPTIONAL_FIELDS: Mapping[Tuple[str, ...], Any] = {
    ('program', 'nice'): 0,
    ('program', 'environmentCache'): True,
    ('program', 'metricsFromOutput'): False,
    ('clusterSpec',): None,
    ('gpuCount',): 0,
    ('cachedEnvironments',): None,
    ('trial',): None,
    ('health',): {},
    ('limits', 'keepOnFailureSeconds'): 0,
    ('limits', 'diskSetting'): 'bootDiskSizeGb',
}


@dataclass(frozen=True)
class Endpoints:
    """URLs have no trailing slash."""

    heartbeat_url: str
    heartbeat_audience: str
    storage_url: str
    logging_url: str
    secret_manager_url: str


@dataclass(frozen=True)
class Limits:
    max_running_seconds: float
    setup_seconds: float
    stop_grace_seconds: float
    preemption_notice_seconds: float
    control_plane_timeout_seconds: float
    """Without an answer from the control plane for this long, the VM saves its output and powers off."""
    upload_seconds: float
    keep_on_failure_seconds: float
    """How long the VM stays after a failure, if the control plane says so; 0 for not at all."""
    disk_bytes_max: int
    log_bytes_max: int
    disk_setting: str = 'bootDiskSizeGb'
    """Of the job file, or `diskBytesMax` of the embedded cloud: what raises `disk_bytes_max`."""

    @property
    def disk_remedy(self) -> str:
        """How to have a larger limit on disk usage, as a sentence."""
        if self.disk_setting == 'diskBytesMax':
            return (
                'Raise diskBytesMax in the configuration of the embedded cloud (dropforge up --config FILE); a larger '
                'boot disk changes nothing.'
            )
        return 'Request a larger boot disk (bootDiskSizeGb).'


@dataclass(frozen=True)
class Intervals:
    heartbeat_seconds: float
    sync_seconds: float
    log_seconds: float


@dataclass(frozen=True)
class Trial:
    """The trial of a tuning that the job is."""

    trial_id: str
    metric_ids: Tuple[str, ...]
    """The metrics whose history is reported."""


@dataclass(frozen=True)
class Config:
    protocol: int
    """One of SUPPORTED_PROTOCOLS; heartbeats are sent in the same version."""
    spec: ReplicaSpec
    endpoints: Endpoints
    secrets: Mapping[str, str]
    """`projects/P/secrets/S/versions/V` by environment variable."""
    packages: Tuple[Package, ...]
    container: Optional[ContainerSpec]
    """What the VM runs instead of a module; None for a Python program."""
    nice: int
    """Added to the agent's niceness for the program, 0 to 19."""
    replica_count: int
    reads_output: bool
    """Whether the lines that the program prints are searched for metrics."""
    gpu_count: int
    """GPUs that the driver must have before the program starts; 0 if that is not checked."""
    limits: Limits
    intervals: Intervals
    environment_cache: Optional[CacheLocation]
    """None if the deployment has none or the job does not use it: packages are installed at every start."""
    trial: Optional[Trial] = None
    """None for a job that is not a trial."""
    health: Policy = Policy({})


class ConfigError(Exception):
    """The configuration is not one that this agent supports."""


def parse_config(text: str) -> Config:
    """Parses the attribute's JSON. Raises ConfigError, which names a field that is missing or has the wrong type."""
    try:
        body = json.loads(text)
    except ValueError as error:
        raise ConfigError(f'dropforge-config is not valid JSON: {error}.') from error
    return read_config(body)


def read_config(body: Any) -> Config:
    """Reads a parsed configuration of any supported protocol version. Raises ConfigError."""
    body = upgrade(body)
    program = _field(body, 'program', dict)
    return Config(
        protocol=_field(body, 'protocol', int),
        spec=_read_spec(body, program),
        endpoints=_read_endpoints(_field(body, 'endpoints', dict)),
        secrets={name: str(version) for name, version in _field(program, 'secrets', dict).items()},
        packages=tuple(_read_package(package) for package in _field(program, 'packages', list)),
        container=_read_container(program.get('container')),
        nice=_field(program, 'nice', int),
        reads_output=_field(program, 'metricsFromOutput', bool),
        replica_count=_field(body, 'replicaCount', int),
        gpu_count=_field(body, 'gpuCount', int),
        limits=_read_limits(_field(body, 'limits', dict)),
        intervals=_read_intervals(_field(body, 'intervals', dict)),
        environment_cache=_read_cache(body.get('cachedEnvironments'), _field(program, 'environmentCache', bool)),
        trial=_read_trial(body.get('trial')),
        health=read_policy(body.get('health')),
    )


def upgrade(body: Any) -> Mapping[str, Any]:
    """
    Returns the configuration with the fields that later protocol versions renamed and added, and with the default of
    each optional field that is absent; its `protocol` is unchanged. Raises ConfigError for a version that is not
    supported.
    """
    protocol = body.get('protocol') if isinstance(body, dict) else None
    if type(protocol) is not int or protocol not in SUPPORTED_PROTOCOLS:
        supported = ' and '.join(map(str, SUPPORTED_PROTOCOLS))
        raise ConfigError(
            f'dropforge-config has protocol version {protocol}, but this agent supports {supported} only. '
            'Deploy the control plane and the agent in the same version.'
        )
    upgraded: Mapping[str, Any] = body
    for version in range(protocol + 1, PROTOCOL_VERSION + 1):
        for path, new_name in RENAMED_FIELDS.get(version, {}).items():
            upgraded = _renamed(upgraded, path, new_name)
        for path, default in ADDED_FIELDS.get(version, {}).items():
            upgraded = _with_default(upgraded, path, default)
    for path, default in OPTIONAL_FIELDS.items():
        upgraded = _with_default(upgraded, path, default)
    return upgraded


def _renamed(body: Mapping[str, Any], path: Tuple[str, ...], new_name: str) -> Mapping[str, Any]:
    name, *rest = path
    if rest:
        return {**body, name: _renamed(_field(body, name, dict), tuple(rest), new_name)}
    return {new_name if key == name else key: value for key, value in body.items()}


def _with_default(body: Mapping[str, Any], path: Tuple[str, ...], default: Any) -> Mapping[str, Any]:
    name, *rest = path
    if not rest:
        return body if name in body else {**body, name: default}
    value = _field(body, name, dict)
    changed = _with_default(value, tuple(rest), default)
    return body if changed is value else {**body, name: changed}


def _read_spec(body: Mapping[str, Any], program: Mapping[str, Any]) -> ReplicaSpec:
    trial = _read_trial(body.get('trial'))
    return ReplicaSpec(
        project_id=_field(body, 'projectId', str),
        job_id=_field(body, 'jobId', str),
        attempt=_field(body, 'attempt', int),
        role=_field(body, 'role', str),
        index=_field(body, 'index', int),
        module=_field(program, 'module', str),
        args=tuple(str(arg) for arg in _field(program, 'args', list)),
        passes_job_dir=_field(program, 'passesJobDir', bool),
        environment={name: str(value) for name, value in _field(program, 'environment', dict).items()},
        job_dir=_field(body, 'jobDir', str).rstrip('/'),
        cluster={role: tuple(hosts) for role, hosts in _field(body, 'cluster', dict).items()},
        training_input=_field(body, 'trainingInput', dict),
        cluster_spec=_read_cluster_spec(body),
        trial_id=None if trial is None else trial.trial_id,
    )


def _read_trial(body: Any) -> Optional[Trial]:
    if not isinstance(body, dict):
        return None
    return Trial(_field(body, 'trialId', str), tuple(str(name) for name in _field(body, 'metricIds', list)))


def _read_cluster_spec(body: Mapping[str, Any]) -> Optional[Mapping[str, Any]]:
    if body.get('clusterSpec') is None:
        return None
    spec = _field(body, 'clusterSpec', dict)
    return {'cluster': _field(spec, 'cluster', dict), 'job': _field(spec, 'job', dict)}


def _read_endpoints(body: Mapping[str, Any]) -> Endpoints:
    return Endpoints(
        heartbeat_url=_field(body, 'heartbeatUrl', str),
        heartbeat_audience=_field(body, 'heartbeatAudience', str),
        storage_url=_field(body, 'storageUrl', str).rstrip('/'),
        logging_url=_field(body, 'loggingUrl', str).rstrip('/'),
        secret_manager_url=_field(body, 'secretManagerUrl', str).rstrip('/'),
    )


def _read_package(body: Mapping[str, Any]) -> Package:
    try:
        bucket, name = split_gs_uri(_field(body, 'uri', str))
    except ValueError as error:
        raise ConfigError(f'uri of a package in dropforge-config is not valid: {error}.') from error
    return Package(
        bucket=bucket,
        name=name,
        generation=_field(body, 'generation', str),
        crc32c=_field(body, 'crc32c', str),
        size_bytes=_field(body, 'sizeBytes', int),
    )


def _read_container(body: Any) -> Optional[ContainerSpec]:
    if not isinstance(body, dict):
        return None
    credentials = _field(body, 'credentials', dict)
    return ContainerSpec(
        image=_field(body, 'image', str),
        size_bytes=_field(body, 'sizeBytes', int),
        argv=tuple(str(word) for word in _field(body, 'argv', list)),
        user=_field(body, 'user', str),
        working_directory=_field(body, 'workingDir', str),
        credentials=_field(credentials, 'kind', str),
        credentials_secret=_field(credentials, 'secret', str) or None,
    )


def _read_limits(body: Mapping[str, Any]) -> Limits:
    return Limits(
        max_running_seconds=_field(body, 'maxRunningSeconds', float),
        setup_seconds=_field(body, 'setupSeconds', float),
        stop_grace_seconds=_field(body, 'stopGraceSeconds', float),
        preemption_notice_seconds=_field(body, 'preemptionNoticeSeconds', float),
        control_plane_timeout_seconds=_field(body, 'controlPlaneTimeoutSeconds', float),
        upload_seconds=_field(body, 'uploadSeconds', float),
        keep_on_failure_seconds=_field(body, 'keepOnFailureSeconds', float),
        disk_bytes_max=_field(body, 'diskBytesMax', int),
        log_bytes_max=_field(body, 'logBytesMax', int),
        disk_setting=_field(body, 'diskSetting', str),
    )


def _read_intervals(body: Mapping[str, Any]) -> Intervals:
    return Intervals(
        heartbeat_seconds=_field(body, 'heartbeatSeconds', float),
        sync_seconds=_field(body, 'syncSeconds', float),
        log_seconds=_field(body, 'logSeconds', float),
    )


def _read_cache(body: Any, is_used: bool) -> Optional[CacheLocation]:
    if not isinstance(body, dict):
        return None
    bucket, prefix = split_gs_uri(_field(body, 'uri', str))
    location = CacheLocation(
        bucket=bucket,
        prefix=prefix.strip('/'),
        age_seconds_max=_field(body, 'ageSecondsMax', float),
        entry_bytes_max=_field(body, 'entryBytesMax', int),
    )
    return location if is_used else None


def _field(body: Mapping[str, Any], name: str, kind: Type[Any]) -> Any:
    value = body.get(name)
    allowed = (int, float) if kind is float else kind
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f'{name} in dropforge-config must be of type {kind.__name__}, not {value!r}.')
    return value
