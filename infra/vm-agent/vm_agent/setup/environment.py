"""The environment variables and the arguments of the program, as on AI Platform Training."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from vm_agent.metrics.program_metrics import MLFLOW_DATABASE
from vm_agent.metrics.sources.progress_server import TOKEN_FILE
from vm_agent.program.network_interface import find_interface
from vm_agent.setup.proxy_exceptions import loopback_exceptions

# AI Platform calls the master `chief` in TF_CONFIG from runtime version 2.1 on
# (cloud.google.com/ai-platform/training/docs/distributed-training-details).
TASK_TYPE_OF_MASTER = 'chief'
DEFAULT_PORT = '2222'
RANKED_ROLES = (TASK_TYPE_OF_MASTER, 'worker')
# Vertex AI's worker pools by their purpose (Vertex AI docs, "Distributed training").
WORKER_POOLS = {'master': 'workerpool0', 'worker': 'workerpool1', 'ps': 'workerpool2', 'evaluator': 'workerpool3'}
VM_MARKER = 'DROPFORGE_VM'
# JSON of the variables that a container engine needs, such as DOCKER_HOST and HOME; no program gets them.
ENGINE_ENVIRONMENT = 'DROPFORGE_ENGINE_ENVIRONMENT'
REFERENCE_PATTERN = re.compile(r'(\$?)\$\(([A-Za-z_][A-Za-z0-9_]*)\)')


@dataclass(frozen=True)
class Trial:
    """The trial of a tuning that the job is."""

    trial_id: str
    """From '1'."""
    metric_ids: Tuple[str, ...]
    """The metrics whose history is reported."""


@dataclass(frozen=True)
class ReplicaSpec:
    """Which replica of which job this VM runs, and its program."""

    project_id: str
    job_id: str
    attempt: int
    role: str
    index: int
    module: str
    command: Tuple[str, ...]
    """Runs instead of the module; empty for a module or a container."""
    args: Tuple[str, ...]
    passes_job_dir: bool
    """Whether --job-dir is added to the arguments, unless it is among them."""
    environment: Mapping[str, str]
    job_dir: str
    """`gs://bucket/path` without a trailing slash."""
    cluster: Mapping[str, Tuple[str, ...]]
    """`host:port` addresses by task type."""
    training_input: Mapping[str, Any]
    cluster_spec: Optional[Mapping[str, Any]]
    """`cluster` and `job` of CLUSTER_SPEC as on Vertex AI; None on AI Platform."""
    trial: Optional[Trial]
    """None for a job that is not a trial."""

    @property
    def name(self) -> str:
        return f'{self.role}-{self.index}'

    @property
    def is_master(self) -> bool:
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
        **{name: value for name, value in inherited.items() if name != ENGINE_ENVIRONMENT},
        'PATH': path,
        'VIRTUAL_ENV': str(paths.python.parent.parent),
        'PYTHONUNBUFFERED': '1',
        VM_MARKER: vm,
    }


def program_environment(spec: ReplicaSpec, paths: ProgramPaths, tools: Mapping[str, str]) -> Dict[str, str]:
    """
    Returns all variables of the program; none is a token. The user's variables override the machine's, and an empty one
    removes it; Dropforge's variables override the user's, whose exceptions of proxies get the loopback hosts.
    """
    service = _service_environment(spec, paths)
    tools = {
        'MLFLOW_TRACKING_URI': f'sqlite:///{paths.metrics_file.with_name(MLFLOW_DATABASE)}',
        'KUBEFLOW_TRAINER_SERVER_TOKEN': str(paths.metrics_file.with_name(TOKEN_FILE)),
        **tools,
    }
    own = expand_variables(spec.environment, {**tools, **service})
    removed = {name for name, value in own.items() if value == '' and name in tools}
    tools = {name: value for name, value in tools.items() if name not in removed}
    own = {name: value for name, value in own.items() if name not in removed}
    python_path = [*paths.import_roots, *filter(None, [own.get('PYTHONPATH'), tools.get('PYTHONPATH')])]
    return {
        **tools,
        **own,
        **loopback_exceptions({**tools, **own}),
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
    return {
        **_rendezvous(spec),
        **_cluster_variables(spec),
        'CLOUD_ML_JOB_ID': spec.job_id,
        'CLOUD_ML_PROJECT_ID': spec.project_id,
        'CLOUD_ML_HP_METRIC_FILE': str(paths.hypertune_file),
        'CLOUD_ML_TRIAL_ID': '0' if spec.trial is None else spec.trial.trial_id,
        'AIP_MODEL_DIR': f'{spec.job_dir}/model/',
        'AIP_CHECKPOINT_DIR': f'{spec.job_dir}/checkpoints/',
        # A local path, unlike the others: every writer of event files can open it, and can append to a file.
        'AIP_TENSORBOARD_LOG_DIR': f'{paths.output}/logs/',
        'DROPFORGE_OUTPUT_DIR': str(paths.output),
        'DROPFORGE_METRICS_FILE': str(paths.metrics_file),
        'DROPFORGE_ATTEMPT': str(spec.attempt),
    }


def _cluster_variables(spec: ReplicaSpec) -> Dict[str, str]:
    """
    AI Platform sets TF_CONFIG for every job; Vertex AI sets CLUSTER_SPEC for every job, and TF_CONFIG for jobs with
    several replicas only (Vertex AI docs, "Distributed training").
    """
    cluster_config = json.dumps(describe_cluster(spec))
    if spec.cluster_spec is None:
        return {'TF_CONFIG': cluster_config, 'CLUSTER_SPEC': cluster_config}
    pools = spec.cluster_spec['cluster']
    is_distributed = sum(len(hosts) for hosts in pools.values()) > 1
    return {
        **({'TF_CONFIG': cluster_config} if is_distributed else {}),
        'CLUSTER_SPEC': json.dumps(
            {
                'cluster': pools,
                'environment': 'cloud',
                'task': {'type': WORKER_POOLS[spec.role], 'index': spec.index, **_trial_of(spec)},
                'job': spec.cluster_spec['job'],
            }
        ),
    }


def program_arguments(spec: ReplicaSpec, args: Sequence[str]) -> List[str]:
    """Returns the user's arguments, and --job-dir if the job's dialect adds it and the user did not."""
    has_job_dir = any(arg == '--job-dir' or arg.startswith('--job-dir=') for arg in args)
    is_added = spec.passes_job_dir and not has_job_dir
    return [*args, *([f'--job-dir={spec.job_dir}'] if is_added else [])]


def describe_cluster(spec: ReplicaSpec) -> Dict[str, Any]:
    """Returns the value of TF_CONFIG."""
    return {
        'cluster': {role: list(hosts) for role, hosts in spec.cluster.items()},
        'task': {'type': task_type(spec), 'index': spec.index, **_trial_of(spec)},
        'job': dict(spec.training_input),
        'environment': 'cloud',
    }


def _trial_of(spec: ReplicaSpec) -> Dict[str, str]:
    """Both services add the trial to `task` in hyperparameter tuning, as text (distributed training details)."""
    return {} if spec.trial is None else {'trial': spec.trial.trial_id}


def task_type(spec: ReplicaSpec) -> str:
    return TASK_TYPE_OF_MASTER if spec.role == 'master' else spec.role


def network_variables(spec: ReplicaSpec) -> Dict[str, str]:
    """
    Returns the interface for NCCL and Gloo, which on a machine with several may choose one that the other replicas do
    not reach. Empty for a replica without a rank, and if the interface is not known.
    """
    members, mine = _list_ranked(spec)
    others = [address for rank, address in enumerate(members) if rank != mine]
    name = find_interface(others[0].partition(':')[0]) if mine is not None and others else None
    # With "=", NCCL takes the name for the whole name, and not for its beginning.
    return {} if name is None else {'NCCL_SOCKET_IFNAME': f'={name}', 'GLOO_SOCKET_IFNAME': name}


def _list_ranked(spec: ReplicaSpec) -> Tuple[List[str], Optional[int]]:
    """Returns the addresses by rank, the master's first in every attempt, and the rank of this replica if it has one."""
    members = [
        (role, index, address)
        for role in RANKED_ROLES
        for index, address in enumerate(spec.cluster.get(role, ()))
    ]
    mine = [rank for rank, (role, index, _) in enumerate(members) if (role, index) == (task_type(spec), spec.index)]
    return [address for _, _, address in members], mine[0] if mine else None


def _rendezvous(spec: ReplicaSpec) -> Dict[str, str]:
    """
    Returns the variables that torch.distributed and Lightning read. Parameter servers and evaluators have no rank; nor
    has a single machine, whose programs would take it for a member of a cluster.
    """
    members, mine = _list_ranked(spec)
    if len(members) < 2 or mine is None:
        return {}
    host, _, port = members[0].partition(':')
    return {
        'MASTER_ADDR': host,
        'MASTER_PORT': port or DEFAULT_PORT,
        'NODE_RANK': str(mine),
        'RANK': str(mine),
        'WORLD_SIZE': str(len(members)),
    }
