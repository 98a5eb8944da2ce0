"""Opens the part of the agent that saves the files of a job with one replica."""

from typing import Callable

from vm_agent.storage.cluster.output_sync import OutputSync
from vm_agent.storage.cluster.peers import Peers
from vm_agent.storage.cluster.rounds import Rounds
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.output.local_files import LocalFiles
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import Staging


def open_sync(
    directory: JobDirectory, tree: OutputTree, staging: Staging, log: Callable[[str, str], None]
) -> OutputSync:
    files, peers = LocalFiles(directory, tree, staging, log), Peers((), 0, str, log)
    return OutputSync(files, Rounds(directory, files, peers), peers)
