"""The environment variables and the arguments of the program, as on AI Platform Training."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple

# AI Platform calls the master `chief` in TF_CONFIG from runtime version 2.1 on
# (cloud.google.com/ai-platform/training/docs/distributed-training-details).
TASK_TYPE_OF_MASTER = 'chief'
DEFAULT_PORT = '2222'
RANKED_ROLES = (TASK_TYPE_OF_MASTER, 'worker')
VM_MARKER = 'DROPFORGE_VM'
REFERENCE_PATTERN = re.compile(r'(\$?)\$\(([A-Za-z_][A-Za-z0-9_]*)\)')


@dataclass(frozen=True)
class ReplicaSpec:
    """Which replica of which job this VM runs, and its program."""

    project_id: str
    job_id: str
    attempt: int
    role: str
    index: int
    module: str
    args: Tuple[str, ...]
    passes_job_dir: bool
    """Whether --job-dir is added to the arguments, unless it is among them."""
    environment: Mapping[str, str]
    job_dir: str
    """`gs://bucket/path` without a trailing slash."""
    cluster: Mapping[str, Tuple[str, ...]]
    """`host:port` addresses by task type."""
    training_input: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f'{self.role}-{self.index}'

    @property
    def saves_output(self) -> bool:
        """Only the master's output is saved: the other replicas' files would overwrite it."""
        return self.role == 'master' and self.index == 0


@dataclass(frozen=True)
class ProgramPaths:
    """Paths on the work disk."""

    python: Path
    output: Path
    metrics_file: Path
    hypertune_file: Path
    import_roots: Tuple[str, ...]
    """Directories for PYTHONPATH."""


def tool_environment(inherited: Mapping[str, str], paths: ProgramPaths, vm: str) -> Dict[str, str]:
    """Returns the variables for pip and the program: the machine's, the virtual environment, and the VM's marker."""
    path = os.pathsep.join([str(paths.python.parent), inherited.get('PATH', os.defpath)])
    return {
        **inherited,
        'PATH': path,
        'VIRTUAL_ENV': str(paths.python.parent.parent),
        'PYTHONUNBUFFERED': '1',
        VM_MARKER: vm,
    }


def program_environment(spec: ReplicaSpec, paths: ProgramPaths, tools: Mapping[str, str]) -> Dict[str, str]:
    """Returns all variables of the program; none is a token. Dropforge's variables override the user's."""
    service = _service_environment(spec, paths)
    own = expand_variables(spec.environment, {**tools, **service})
    python_path = [*paths.import_roots, *filter(None, [own.get('PYTHONPATH'), tools.get('PYTHONPATH')])]
    return {
        **tools,
        **own,
        **({'PYTHONPATH': os.pathsep.join(python_path)} if python_path else {}),
        **service,
        # Processes of a VM are found and killed by its marker, which a job therefore cannot override.
        **({VM_MARKER: tools[VM_MARKER]} if VM_MARKER in tools else {}),
    }


def expand_variables(variables: Mapping[str, str], known: Mapping[str, str]) -> Dict[str, str]:
    """
    Replaces `$(NAME)` with the value of a known variable or one earlier in `variables`; `$$(NAME)` becomes `$(NAME)`,
    and a reference to an unknown name stays (EnvVar.value in Vertex AI's API).
    """
    values = dict(known)

    def expand(reference: re.Match[str]) -> str:
        return reference[0][1:] if reference[1] else values.get(reference[2], reference[0])

    expanded: Dict[str, str] = {}
    for name, value in variables.items():
        values[name] = expanded[name] = REFERENCE_PATTERN.sub(expand, value)
    return expanded


def _service_environment(spec: ReplicaSpec, paths: ProgramPaths) -> Dict[str, str]:
    """Every name is reserved in shared/protocol/service-variables.ts."""
    cluster_config = json.dumps(describe_cluster(spec))
    return {
        **_rendezvous(spec),
        'TF_CONFIG': cluster_config,
        'CLUSTER_SPEC': cluster_config,
        'CLOUD_ML_JOB_ID': spec.job_id,
        'CLOUD_ML_PROJECT_ID': spec.project_id,
        'CLOUD_ML_HP_METRIC_FILE': str(paths.hypertune_file),
        'CLOUD_ML_TRIAL_ID': '0',
        'AIP_MODEL_DIR': f'{spec.job_dir}/model/',
        'AIP_CHECKPOINT_DIR': f'{spec.job_dir}/checkpoints/',
        'AIP_TENSORBOARD_LOG_DIR': f'{spec.job_dir}/logs/',
        'DROPFORGE_OUTPUT_DIR': str(paths.output),
        'DROPFORGE_METRICS_FILE': str(paths.metrics_file),
        'DROPFORGE_ATTEMPT': str(spec.attempt),
    }


def program_arguments(spec: ReplicaSpec) -> List[str]:
    """Returns the user's arguments, and --job-dir if the job's dialect adds it and the user did not."""
    has_job_dir = any(arg == '--job-dir' or arg.startswith('--job-dir=') for arg in spec.args)
    is_added = spec.passes_job_dir and not has_job_dir
    return [*spec.args, *([f'--job-dir={spec.job_dir}'] if is_added else [])]


def describe_cluster(spec: ReplicaSpec) -> Dict[str, Any]:
    """Returns the value of TF_CONFIG."""
    return {
        'cluster': {role: list(hosts) for role, hosts in spec.cluster.items()},
        'task': {'type': task_type(spec), 'index': spec.index},
        'job': dict(spec.training_input),
        'environment': 'cloud',
    }


def task_type(spec: ReplicaSpec) -> str:
    if spec.role != 'master':
        return spec.role
    return 'master' if 'master' in spec.cluster and TASK_TYPE_OF_MASTER not in spec.cluster else TASK_TYPE_OF_MASTER


def _rendezvous(spec: ReplicaSpec) -> Dict[str, str]:
    """Returns the variables that torch.distributed reads. Parameter servers and evaluators have no rank."""
    members = [
        (role, index, address)
        for role in ('master', *RANKED_ROLES)
        for index, address in enumerate(spec.cluster.get(role, ()))
    ]
    if not members:
        return _ranks('localhost', DEFAULT_PORT, 0, 1) if spec.saves_output else {}
    host, _, port = members[0][2].partition(':')
    # A single replica need not resolve its own name.
    address = 'localhost' if len(members) == 1 else host
    mine = [rank for rank, (role, index, _) in enumerate(members) if (role, index) == (task_type(spec), spec.index)]
    return _ranks(address, port or DEFAULT_PORT, mine[0], len(members)) if mine else {}


def _ranks(host: str, port: str, rank: int, world_size: int) -> Dict[str, str]:
    return {'MASTER_ADDR': host, 'MASTER_PORT': port, 'RANK': str(rank), 'WORLD_SIZE': str(world_size)}


def create_work_directory(folder: Path, job_dir: str, output: Path) -> None:
    """
    Prepares the program's working directory, in which the relative path `gs://bucket/path` is a link to the local
    output directory: a program that opens its job directory as a file path writes files that the agent uploads.
    """
    bucket, *parts = _segments(job_dir)
    link = folder.joinpath('gs:', bucket, *parts)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(output, target_is_directory=True)


def _segments(job_dir: str) -> Sequence[str]:
    return [part for part in job_dir[len('gs://') :].split('/') if part]
