"""Downloads the image of a container by its digest, with the machine's engine."""

from dataclasses import dataclass
from typing import Callable, List, Mapping, Protocol, Sequence

from vm_agent.container.spec import ContainerSpec
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.setup.installers import ToolResult


class PullEngine(Protocol):
    """What pulling needs of the container engine."""

    @property
    def kind(self) -> str: ...

    @property
    def environment(self) -> Mapping[str, str]: ...

    def argv(self, args: Sequence[str]) -> List[str]: ...

    def has_image(self, reference: str) -> bool: ...


@dataclass(frozen=True)
class PullContext:
    run: Callable[[Sequence[str], Mapping[str, str]], ToolResult]
    """Runs a command line with these variables; raises ReplicaEnded if the VM is told to stop in the meantime."""
    log: Callable[[str, str], None]


def pull_image(engine: PullEngine, spec: ContainerSpec, context: PullContext) -> None:
    """Returns when the engine has the image. Raises ReplicaEnded with IMAGE_PULL_FAILED."""
    if engine.has_image(spec.image):
        context.log(f'The image {spec.image} is on this machine: nothing is pulled.', 'INFO')
        return
    result = context.run(engine.argv(['pull', '--quiet', spec.image]), engine.environment)
    if result.exit_code != 0:
        message = f'The image {spec.image} could not be pulled.'
        raise ReplicaEnded(ExitReport('IMAGE_PULL_FAILED', message, evidence=result.lines))
