"""What the control plane tells this VM: the metadata attribute `dropforge-config` (shared/protocol/vm-config.ts)."""

import json
from dataclasses import dataclass
from typing import Any, Mapping, Tuple, Type

PROTOCOL_VERSION = 1


@dataclass(frozen=True)
class Endpoints:
    heartbeat_url: str
    heartbeat_audience: str
    storage_url: str
    logging_url: str
    secret_manager_url: str


@dataclass(frozen=True)
class Package:
    bucket: str
    name: str
    generation: str
    crc32c: str
    size_bytes: int

    @property
    def file_name(self) -> str:
        return self.name.rsplit('/', 1)[-1]


@dataclass(frozen=True)
class Limits:
    max_running_seconds: float
    setup_seconds: float
    stop_grace_seconds: float
    preemption_notice_seconds: float
    dead_man_seconds: float
    upload_seconds: float
    disk_bytes_max: int
    log_bytes_max: int


@dataclass(frozen=True)
class Intervals:
    heartbeat_seconds: float
    sync_seconds: float
    log_seconds: float


@dataclass(frozen=True)
class Config:
    project_id: str
    job_id: str
    attempt: int
    role: str
    index: int
    endpoints: Endpoints
    module: str
    args: Tuple[str, ...]
    passes_job_dir: bool
    environment: Mapping[str, str]
    secrets: Mapping[str, str]
    """By environment variable, `projects/P/secrets/S/versions/V`."""
    packages: Tuple[Package, ...]
    job_dir: str
    cluster: Mapping[str, Tuple[str, ...]]
    replica_count: int
    training_input: Mapping[str, Any]
    limits: Limits
    intervals: Intervals

    @property
    def replica(self) -> str:
        return f'{self.role}-{self.index}'

    @property
    def saves_output(self) -> bool:
        """One replica speaks for all: the others' local output would overwrite the master's."""
        return self.role == 'master' and self.index == 0


class ConfigError(Exception):
    """The configuration is not one that this agent understands."""


def parse_config(text: str) -> Config:
    """Reads the attribute's JSON. Raises ConfigError naming the field that is missing or of another type."""
    try:
        body = json.loads(text)
    except ValueError as error:
        raise ConfigError(f'dropforge-config is not JSON: {error}.') from error
    if not isinstance(body, dict) or body.get('protocol') != PROTOCOL_VERSION:
        found = body.get('protocol') if isinstance(body, dict) else None
        raise ConfigError(
            f'dropforge-config speaks protocol {found}, this agent speaks {PROTOCOL_VERSION}. Deploy both together.'
        )
    program = _field(body, 'program', dict)
    return Config(
        project_id=_field(body, 'projectId', str),
        job_id=_field(body, 'jobId', str),
        attempt=_field(body, 'attempt', int),
        role=_field(body, 'role', str),
        index=_field(body, 'index', int),
        endpoints=_parse_endpoints(_field(body, 'endpoints', dict)),
        module=_field(program, 'module', str),
        args=tuple(str(arg) for arg in _field(program, 'args', list)),
        passes_job_dir=_field(program, 'passesJobDir', bool),
        environment={name: str(value) for name, value in _field(program, 'environment', dict).items()},
        secrets={name: str(version) for name, version in _field(program, 'secrets', dict).items()},
        packages=tuple(_parse_package(package) for package in _field(program, 'packages', list)),
        job_dir=_field(body, 'jobDir', str).rstrip('/'),
        cluster={role: tuple(hosts) for role, hosts in _field(body, 'cluster', dict).items()},
        replica_count=_field(body, 'replicaCount', int),
        training_input=_field(body, 'trainingInput', dict),
        limits=_parse_limits(_field(body, 'limits', dict)),
        intervals=_parse_intervals(_field(body, 'intervals', dict)),
    )


def split_gs_uri(uri: str) -> Tuple[str, str]:
    """`gs://bucket/a/b` is ('bucket', 'a/b')."""
    if not uri.startswith('gs://'):
        raise ConfigError(f'{uri!r} is not a gs:// address.')
    bucket, _, name = uri[len('gs://') :].partition('/')
    return bucket, name


def _parse_endpoints(body: Mapping[str, Any]) -> Endpoints:
    return Endpoints(
        heartbeat_url=_field(body, 'heartbeatUrl', str),
        heartbeat_audience=_field(body, 'heartbeatAudience', str),
        storage_url=_field(body, 'storageUrl', str).rstrip('/'),
        logging_url=_field(body, 'loggingUrl', str).rstrip('/'),
        secret_manager_url=_field(body, 'secretManagerUrl', str).rstrip('/'),
    )


def _parse_package(body: Mapping[str, Any]) -> Package:
    bucket, name = split_gs_uri(_field(body, 'uri', str))
    return Package(
        bucket=bucket,
        name=name,
        generation=_field(body, 'generation', str),
        crc32c=_field(body, 'crc32c', str),
        size_bytes=_field(body, 'sizeBytes', int),
    )


def _parse_limits(body: Mapping[str, Any]) -> Limits:
    return Limits(
        max_running_seconds=_field(body, 'maxRunningSeconds', float),
        setup_seconds=_field(body, 'setupSeconds', float),
        stop_grace_seconds=_field(body, 'stopGraceSeconds', float),
        preemption_notice_seconds=_field(body, 'preemptionNoticeSeconds', float),
        dead_man_seconds=_field(body, 'deadManSeconds', float),
        upload_seconds=_field(body, 'uploadSeconds', float),
        disk_bytes_max=_field(body, 'diskBytesMax', int),
        log_bytes_max=_field(body, 'logBytesMax', int),
    )


def _parse_intervals(body: Mapping[str, Any]) -> Intervals:
    return Intervals(
        heartbeat_seconds=_field(body, 'heartbeatSeconds', float),
        sync_seconds=_field(body, 'syncSeconds', float),
        log_seconds=_field(body, 'logSeconds', float),
    )


def _field(body: Mapping[str, Any], name: str, kind: Type[Any]) -> Any:
    value = body.get(name)
    allowed = (int, float) if kind is float else kind
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f'{name} of dropforge-config must be {kind.__name__}, not {value!r}.')
    return value
