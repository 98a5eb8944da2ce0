"""The environment and the arguments that the program sees, as on AI Platform Training."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from vm_agent.config import Config

# `chief` is what AI Platform calls the master in TF_CONFIG from runtime version 2.1 on
# (cloud.google.com/ai-platform/training/docs/distributed-training-details).
TASK_TYPE_OF_MASTER = 'chief'
DEFAULT_PORT = '2222'
RANKED_ROLES = (TASK_TYPE_OF_MASTER, 'worker')
VM_MARKER = 'DROPFORGE_VM'
REFERENCE_PATTERN = re.compile(r'(\$?)\$\(([A-Za-z_][A-Za-z0-9_]*)\)')


@dataclass(frozen=True)
class Places:
    """Where things lie on the work disk."""

    python: Path
    output: Path
    metrics_file: Path
    hypertune_file: Path
    import_roots: Tuple[str, ...]


def tool_environment(inherited: Mapping[str, str], places: Places, vm: str) -> Dict[str, str]:
    """For pip and for the program alike: the machine's settings, the virtual environment first, the VM's mark."""
    path = os.pathsep.join([str(places.python.parent), inherited.get('PATH', os.defpath)])
    return {
        **inherited,
        'PATH': path,
        'VIRTUAL_ENV': str(places.python.parent.parent),
        'PYTHONUNBUFFERED': '1',
        VM_MARKER: vm,
    }


def program_environment(config: Config, places: Places, tools: Mapping[str, str]) -> Dict[str, str]:
    """Everything the program is told; no token is among it. The user's variables give way to the service's own."""
    service = _service_environment(config, places)
    own = expand_variables(config.environment, {**tools, **service})
    python_path = [*places.import_roots, *filter(None, [own.get('PYTHONPATH'), tools.get('PYTHONPATH')])]
    return {
        **tools,
        **own,
        **({'PYTHONPATH': os.pathsep.join(python_path)} if python_path else {}),
        **service,
        # What belongs to a VM is found by its mark, and ended with it: a program cannot take it off.
        **({VM_MARKER: tools[VM_MARKER]} if VM_MARKER in tools else {}),
    }


def expand_variables(variables: Mapping[str, str], known: Mapping[str, str]) -> Dict[str, str]:
    """
    Puts earlier variables and known ones in the place of `$(NAME)`; `$$(NAME)` stands for itself without the first
    dollar sign, and an unknown name is left as it is written (EnvVar.value of Vertex AI's API).
    """
    expanded: Dict[str, str] = {}
    for name, value in variables.items():
        seen = {**known, **expanded}
        expanded[name] = REFERENCE_PATTERN.sub(
            lambda match, seen=seen: match[0][1:] if match[1] else seen.get(match[2], match[0]), value
        )
    return expanded


def _service_environment(config: Config, places: Places) -> Dict[str, str]:
    cluster_config = json.dumps(describe_cluster(config))
    return {
        **_rendezvous(config),
        'TF_CONFIG': cluster_config,
        'CLUSTER_SPEC': cluster_config,
        'CLOUD_ML_JOB_ID': config.job_id,
        'CLOUD_ML_PROJECT_ID': config.project_id,
        'CLOUD_ML_HP_METRIC_FILE': str(places.hypertune_file),
        'CLOUD_ML_TRIAL_ID': '0',
        'AIP_MODEL_DIR': f'{config.job_dir}/model/',
        'AIP_CHECKPOINT_DIR': f'{config.job_dir}/checkpoints/',
        'AIP_TENSORBOARD_LOG_DIR': f'{config.job_dir}/logs/',
        'DROPFORGE_OUTPUT_DIR': str(places.output),
        'DROPFORGE_METRICS_FILE': str(places.metrics_file),
        'DROPFORGE_ATTEMPT': str(config.attempt),
    }


def program_arguments(config: Config) -> List[str]:
    """The user's arguments, and --job-dir where the job's dialect adds it and the user wrote none."""
    has_job_dir = any(arg == '--job-dir' or arg.startswith('--job-dir=') for arg in config.args)
    is_told = config.passes_job_dir and not has_job_dir
    return [*config.args, *([f'--job-dir={config.job_dir}'] if is_told else [])]


def describe_cluster(config: Config) -> Dict[str, Any]:
    """TF_CONFIG."""
    return {
        'cluster': {role: list(hosts) for role, hosts in config.cluster.items()},
        'task': {'type': task_type(config), 'index': config.index},
        'job': dict(config.training_input),
        'environment': 'cloud',
    }


def task_type(config: Config) -> str:
    if config.role != 'master':
        return config.role
    return 'master' if 'master' in config.cluster and TASK_TYPE_OF_MASTER not in config.cluster else TASK_TYPE_OF_MASTER


def _rendezvous(config: Config) -> Dict[str, str]:
    """What torch.distributed reads; parameter servers and evaluators have no rank."""
    members = [
        (role, index, address)
        for role in ('master', *RANKED_ROLES)
        for index, address in enumerate(config.cluster.get(role, ()))
    ]
    if not members:
        return _ranks('localhost', DEFAULT_PORT, 0, 1) if config.saves_output else {}
    host, _, port = members[0][2].partition(':')
    # Alone, the program need not resolve its own name.
    address = 'localhost' if len(members) == 1 else host
    mine = [rank for rank, (role, index, _) in enumerate(members) if (role, index) == (task_type(config), config.index)]
    return _ranks(address, port or DEFAULT_PORT, mine[0], len(members)) if mine else {}


def _ranks(host: str, port: str, rank: int, world_size: int) -> Dict[str, str]:
    return {'MASTER_ADDR': host, 'MASTER_PORT': port, 'RANK': str(rank), 'WORLD_SIZE': str(world_size)}


def make_work_directory(folder: Path, job_dir: str, output: Path) -> None:
    """
    The program's working directory, where the path `gs://bucket/path` leads to the local output directory: a program
    that opens its job directory as if it were a file path writes where the agent saves it.
    """
    bucket, *parts = _segments(job_dir)
    link = folder.joinpath('gs:', bucket, *parts)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(output, target_is_directory=True)


def _segments(job_dir: str) -> Sequence[str]:
    return [part for part in job_dir[len('gs://') :].split('/') if part]
