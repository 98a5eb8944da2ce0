"""
This VM's configuration: the metadata attribute `dropforge-config` (shared/protocol/vm-config.ts).

It is written together with the agent, which reads exactly its fields: none has a default here.
"""

import collections.abc
import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Tuple, Union, get_args, get_origin, get_type_hints

from vm_agent.cache.entries import CacheLocation
from vm_agent.container.spec import ContainerSpec
from vm_agent.health.policy import Policy
from vm_agent.setup.environment import ReplicaSpec
from vm_agent.setup.packages import Package

DIFFERENT = (
    'dropforge-config {}: it was not written with this agent. Deploy the control plane and the agent in the same version.'
)


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
    final_save_seconds: float
    """Reserved out of a notice for the time after the program: the last changed files, the manifest and the report."""
    earlier_save_seconds: float
    """In a cluster, how long the attempt before, whose program ran, may still save its outputs; 0 if none can."""
    preemption_notice_seconds: float
    control_plane_timeout_seconds: float
    """Without an answer from the control plane for this long, the VM saves its output and powers off."""
    upload_seconds: float
    keep_on_failure_seconds: float
    """How long the VM stays after a failure, if the control plane says so; 0 for not at all."""
    disk_bytes_max: int
    log_bytes_max: int
    disk_setting: str
    """The field of the job file, or `diskBytesMax` of the embedded cloud, that raises `disk_bytes_max`."""

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
class ProgramOptions:
    """The options that the job has of any program, be it a module or a container."""

    nice: int
    """Added to the agent's niceness for the program, 0 to 19."""
    metrics_from_output: Optional[bool]
    """Which printed values are metrics: all that may be one, or none; None for losses and scores."""
    workdir: str
    """A folder of the package, or an absolute path of the image; empty for the default."""
    workdir_outputs: bool
    """Whether files of the working directory are outputs."""
    outputs: Tuple[str, ...]
    """Patterns of those files; empty for all but the excluded ones."""
    resume_arguments: Tuple[str, ...]
    """Added to the program's when it begins with files of an earlier attempt."""


@dataclass(frozen=True)
class Peers:
    address: str
    """`host:port` at which the agent of the master listens for those of the other replicas."""
    replicas: Tuple[str, ...]
    """The names of all replicas, evaluators included, the master first."""


@dataclass(frozen=True)
class RepeatedArguments:
    """A list that is empty at the path `at`, because its values stand at the path `of`, from `start` to before `end`."""

    at: Tuple[Any, ...]
    of: Tuple[Any, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Config:
    spec: ReplicaSpec
    endpoints: Endpoints
    secrets: Mapping[str, str]
    """`projects/P/secrets/S/versions/V` by environment variable."""
    packages: Tuple[Package, ...]
    container: Optional[ContainerSpec]
    """The container that the VM runs instead of a module; None for a Python program."""
    options: ProgramOptions
    replica_count: int
    peers: Optional[Peers]
    """None for a job with one replica."""
    gpu_count: int
    """GPUs that the driver must have before the program starts; 0 if that is not checked."""
    limits: Limits
    intervals: Intervals
    cached_environments: Optional[CacheLocation]
    """None if the deployment has none or the job does not use it: packages are installed at every start."""
    notes: Tuple[str, ...]
    """Sentences about the package, for the log."""
    health: Policy
    repeated_arguments: Tuple[RepeatedArguments, ...]


class ConfigError(Exception):
    """The configuration is not one that was written with this agent."""


def parse_config(text: str) -> Config:
    """Parses the attribute's JSON. Raises ConfigError, which names a field that is missing, unknown or of another type."""
    try:
        body = json.loads(text)
    except ValueError as error:
        raise ConfigError(f'dropforge-config is not valid JSON: {error}.') from error
    return read_config(body)


def read_config(body: Any) -> Config:
    """
    Reads a parsed configuration, whose objects have the fields of the types here, in camel case. Copies each list of
    arguments to its other places. Raises ConfigError.
    """
    config: Config = _read(Config, body, '')
    if not config.repeated_arguments:
        return config
    for entry in config.repeated_arguments:
        *parents, key = entry.at
        _value_at(body, parents)[key] = _value_at(body, entry.of)[entry.start : entry.end]
    return read_config({**body, 'repeatedArguments': []})


def _value_at(body: Any, path: Sequence[Union[str, int]]) -> Any:
    try:
        for key in path:
            body = body[key]
    except (KeyError, IndexError, TypeError) as error:
        raise ConfigError(f'dropforge-config has no value at {path}, which repeatedArguments names.') from error
    return body


def _read(hint: Any, value: Any, path: str) -> Any:
    """Reads a value of a type: a dataclass, Optional, Tuple[X, ...], Mapping or a plain type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Union:
        return None if value is None else _read(arguments[0], value, path)
    if origin is tuple:
        return tuple(_read(arguments[0], item, f'{path}[]') for item in _checked(value, list, path))
    if origin is collections.abc.Mapping:
        return {name: _read(arguments[1], item, path) for name, item in _checked(value, dict, path).items()}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _read_object(hint, value, path)
    return value if hint is Any else _checked(value, hint, path)


def _read_object(kind: Any, body: Any, path: str) -> Any:
    hints = get_type_hints(kind)
    fields = {_camel_case(field.name): hints[field.name] for field in dataclasses.fields(kind)}
    if not isinstance(body, dict):
        raise ConfigError(f'{path or "The value"} in dropforge-config must be an object, not {body!r}.')
    different = [f'has no {_path(path, name)}' for name in fields if name not in body]
    different += [f'has an unknown field {_path(path, name)}' for name in body if name not in fields]
    if different:
        raise ConfigError(DIFFERENT.format(' and '.join(different)))
    return kind(*(_read(hint, body[name], _path(path, name)) for name, hint in fields.items()))


def _camel_case(name: str) -> str:
    first, *others = name.split('_')
    return first + ''.join(map(str.capitalize, others))


def _path(path: str, name: str) -> str:
    return f'{path}.{name}' if path else name


def _checked(value: Any, kind: type, path: str) -> Any:
    allowed = (int, float) if kind is float else kind
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f'{path} in dropforge-config must be of type {kind.__name__}, not {value!r}.')
    return value
