"""
This VM's configuration: the metadata attribute `dropforge-config` (shared/protocol/vm-config.ts).

It is written together with the agent, which reads exactly its fields: none has a default here.
"""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union, get_args, get_origin, get_type_hints

from vm_agent.cache.entries import CacheLocation
from vm_agent.container.spec import ContainerSpec
from vm_agent.health.policy import Policy, read_policy
from vm_agent.setup.environment import ReplicaSpec
from vm_agent.setup.package_layout import PackageLayout
from vm_agent.setup.packages import Package
from vm_agent.storage.client import split_gs_uri

Flat = TypeVar('Flat')
Kinds = Mapping[str, Any]


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
class Trial:
    """The trial of a tuning that the job is."""

    trial_id: str
    metric_ids: Tuple[str, ...]
    """The metrics whose history is reported."""


@dataclass(frozen=True)
class ProgramOptions:
    """The options that the job has of any program, be it a module or a container."""

    nice: int
    """Added to the agent's niceness for the program, 0 to 19."""
    reads_output: Optional[bool]
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
    gpu_count: int
    """GPUs that the driver must have before the program starts; 0 if that is not checked."""
    limits: Limits
    intervals: Intervals
    environment_cache: Optional[CacheLocation]
    """None if the deployment has none or the job does not use it: packages are installed at every start."""
    trial: Optional[Trial]
    """None for a job that is not a trial."""
    notes: Tuple[str, ...]
    """Sentences about the package, for the log."""
    health: Policy


class ConfigError(Exception):
    """The configuration is not one that was written with this agent."""


OBJECT_OR_NULL = (dict, type(None))
BOOL_OR_NULL = (bool, type(None))

FIELDS: Kinds = {
    'projectId': str,
    'jobId': str,
    'attempt': int,
    'role': str,
    'index': int,
    'endpoints': dict,
    'program': dict,
    'jobDir': str,
    'cluster': dict,
    'replicaCount': int,
    'clusterSpec': OBJECT_OR_NULL,
    'gpuCount': int,
    'trainingInput': dict,
    'repeatedArguments': list,
    'limits': dict,
    'intervals': dict,
    'trial': OBJECT_OR_NULL,
    'notes': list,
    'health': dict,
    'cachedEnvironments': OBJECT_OR_NULL,
}

PROGRAM_FIELDS: Kinds = {
    'module': str,
    'command': list,
    'args': list,
    'container': OBJECT_OR_NULL,
    'passesJobDir': bool,
    'environment': dict,
    'secrets': dict,
    'nice': int,
    'environmentCache': bool,
    'metricsFromOutput': BOOL_OR_NULL,
    'workdir': str,
    'workdirOutputs': bool,
    'outputs': list,
    'resumeArguments': list,
    'packages': list,
}


def parse_config(text: str) -> Config:
    """Parses the attribute's JSON. Raises ConfigError, which names a field that is missing, unknown or of another type."""
    try:
        body = json.loads(text)
    except ValueError as error:
        raise ConfigError(f'dropforge-config is not valid JSON: {error}.') from error
    return read_config(body)


def read_config(body: Any) -> Config:
    """Reads a parsed configuration. Raises ConfigError."""
    body = _fields(body, '', FIELDS)
    program = _fields(body['program'], 'program', PROGRAM_FIELDS)
    container = _read_container(program['container'])
    trial = _read_trial(body['trial'])
    _repeat_arguments(body)
    return Config(
        spec=_read_spec(body, program, trial),
        endpoints=_read_flat(Endpoints, body['endpoints'], 'endpoints'),
        secrets={name: str(version) for name, version in program['secrets'].items()},
        packages=tuple(_read_package(package) for package in program['packages']),
        container=container,
        options=ProgramOptions(
            nice=program['nice'],
            reads_output=program['metricsFromOutput'],
            workdir=program['workdir'],
            workdir_outputs=program['workdirOutputs'],
            outputs=tuple(str(pattern) for pattern in program['outputs']),
            resume_arguments=tuple(str(word) for word in program['resumeArguments']),
        ),
        replica_count=body['replicaCount'],
        gpu_count=body['gpuCount'],
        limits=_read_flat(Limits, body['limits'], 'limits'),
        intervals=_read_flat(Intervals, body['intervals'], 'intervals'),
        environment_cache=_read_cache(body['cachedEnvironments'], program['environmentCache']),
        trial=trial,
        notes=tuple(str(note) for note in body['notes']),
        health=_read_health(body['health']),
    )


def _repeat_arguments(body: Any) -> None:
    """Copies each list of arguments, which stands in the configuration once, to its other places."""
    for entry in body['repeatedArguments']:
        repeated = _fields(entry, 'repeatedArguments', {'at': list, 'of': list, 'start': int, 'end': int})
        *parents, key = repeated['at']
        values = _value_at(body, repeated['of'])
        _value_at(body, parents)[key] = values[repeated['start'] : repeated['end']]


def _value_at(body: Any, path: Sequence[Union[str, int]]) -> Any:
    try:
        for key in path:
            body = body[key]
    except (KeyError, IndexError, TypeError) as error:
        raise ConfigError(f'dropforge-config has no value at {path}, which repeatedArguments names.') from error
    return body


def _read_spec(body: Mapping[str, Any], program: Mapping[str, Any], trial: Optional[Trial]) -> ReplicaSpec:
    return ReplicaSpec(
        project_id=body['projectId'],
        job_id=body['jobId'],
        attempt=body['attempt'],
        role=body['role'],
        index=body['index'],
        module=program['module'],
        command=tuple(str(word) for word in program['command']),
        args=tuple(str(arg) for arg in program['args']),
        passes_job_dir=program['passesJobDir'],
        environment={name: str(value) for name, value in program['environment'].items()},
        job_dir=body['jobDir'].rstrip('/'),
        cluster={role: tuple(hosts) for role, hosts in body['cluster'].items()},
        training_input=body['trainingInput'],
        cluster_spec=_read_cluster_spec(body['clusterSpec']),
        trial_id=None if trial is None else trial.trial_id,
    )


def _read_trial(body: Any) -> Optional[Trial]:
    if body is None:
        return None
    fields = _fields(body, 'trial', {'trialId': str, 'metricIds': list})
    return Trial(fields['trialId'], tuple(str(name) for name in fields['metricIds']))


def _read_cluster_spec(body: Any) -> Optional[Mapping[str, Any]]:
    return None if body is None else _fields(body, 'clusterSpec', {'cluster': dict, 'job': dict})


def _read_package(body: Any) -> Package:
    kinds = {'uri': str, 'generation': str, 'crc32c': str, 'sizeBytes': int, 'layout': OBJECT_OR_NULL}
    fields = _fields(body, 'program.packages[]', kinds)
    bucket, name = _split_uri(fields['uri'], 'a package')
    return Package(
        bucket=bucket,
        name=name,
        generation=fields['generation'],
        crc32c=fields['crc32c'],
        size_bytes=fields['sizeBytes'],
        layout=_read(Optional[PackageLayout], fields['layout'], 'program.packages[].layout'),
    )


def _read_container(body: Any) -> Optional[ContainerSpec]:
    if body is None:
        return None
    kinds = {'image': str, 'sizeBytes': int, 'argv': list, 'user': str, 'workingDir': str, 'credentials': dict}
    fields = _fields(body, 'program.container', kinds)
    credentials = _fields(fields['credentials'], 'program.container.credentials', {'kind': str, 'secret': str})
    return ContainerSpec(
        image=fields['image'],
        size_bytes=fields['sizeBytes'],
        argv=tuple(str(word) for word in fields['argv']),
        user=fields['user'],
        working_directory=fields['workingDir'],
        credentials=credentials['kind'],
        credentials_secret=credentials['secret'] or None,
    )


def _read_cache(body: Any, is_used: bool) -> Optional[CacheLocation]:
    if body is None:
        return None
    fields = _fields(body, 'cachedEnvironments', {'uri': str, 'ageSecondsMax': float, 'entryBytesMax': int})
    bucket, prefix = _split_uri(fields['uri'], 'cachedEnvironments')
    location = CacheLocation(
        bucket=bucket,
        prefix=prefix.strip('/'),
        age_seconds_max=fields['ageSecondsMax'],
        entry_bytes_max=fields['entryBytesMax'],
    )
    return location if is_used else None


def _split_uri(uri: str, of: str) -> Tuple[str, str]:
    try:
        return split_gs_uri(uri)
    except ValueError as error:
        raise ConfigError(f'uri of {of} in dropforge-config is not valid: {error}.') from error


def _read_health(body: Mapping[str, Any]) -> Policy:
    try:
        return read_policy(body)
    except ValueError as error:
        raise ConfigError(f'health in dropforge-config is not valid: {error}.') from error


def _read_flat(kind: Type[Flat], body: Any, path: str) -> Flat:
    """Reads an object that has the fields of a dataclass, whose names it has in camel case."""
    hints = get_type_hints(kind)
    names = {_camel_case(field.name): hints[field.name] for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    fields = _fields(body, path, dict.fromkeys(names, object))
    return kind(*(_read(hint, fields[name], _path(path, name)) for name, hint in names.items()))


def _read(hint: Any, value: Any, path: str) -> Any:
    """Reads a value of a type: a dataclass, Optional, Tuple[X, ...] or a plain type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Union:
        return None if value is None else _read(arguments[0], value, path)
    if origin is tuple:
        return tuple(_read(arguments[0], item, f'{path}[]') for item in _checked(value, list, path))
    is_object = isinstance(hint, type) and dataclasses.is_dataclass(hint)
    return _read_flat(hint, value, path) if is_object else _checked(value, hint, path)


def _camel_case(name: str) -> str:
    first, *others = name.split('_')
    return first + ''.join(map(str.capitalize, others))


def _fields(body: Any, path: str, kinds: Kinds) -> Mapping[str, Any]:
    """Returns the fields in the order of `kinds`. Raises ConfigError unless the object has exactly these."""
    if not isinstance(body, dict):
        raise ConfigError(f'{path or "The value"} in dropforge-config must be an object, not {body!r}.')
    different = [f'has no {_path(path, name)}' for name in kinds if name not in body]
    different += [f'has an unknown field {_path(path, name)}' for name in body if name not in kinds]
    if different:
        raise ConfigError(
            f'dropforge-config {" and ".join(different)}: it was not written with this agent. '
            'Deploy the control plane and the agent in the same version.'
        )
    return {name: _checked(body[name], kind, _path(path, name)) for name, kind in kinds.items()}


def _path(path: str, name: str) -> str:
    return f'{path}.{name}' if path else name


def _checked(value: Any, kind: Any, path: str) -> Any:
    allowed = (int, float) if kind is float else kind
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind not in (bool, BOOL_OR_NULL)):
        name = f'{kind[0].__name__} or null' if isinstance(kind, tuple) else kind.__name__
        raise ConfigError(f'{path} in dropforge-config must be of type {name}, not {value!r}.')
    return value
