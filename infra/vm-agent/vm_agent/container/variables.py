"""The environment of a container: its image's, this machine's network, and the program's."""

import re
from pathlib import Path
from typing import Dict, Mapping, Sequence, Tuple

# Variables that lead to the network, and to the embedded cloud in Google's place; everything else of the VM's
# environment is the machine's own. So are settings of pip, which have passwords of indexes: an image can be of any
# origin.
FORWARDED = re.compile(
    r'([a-z]+_proxy|[A-Z]+_PROXY|GCE_METADATA_[A-Z]+|SSL_CERT_FILE|[A-Z0-9_]*CA_(BUNDLE|CERTS|CERTS_FILE)|'
    r'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH|NODE_EXTRA_CA_CERTS|FSSPEC_[A-Z_]+|TENSORBOARD_DATA_SERVER_BINARY)\Z'
)


def forwarded_variables(inherited: Mapping[str, str]) -> Dict[str, str]:
    return {name: value for name, value in inherited.items() if FORWARDED.match(name)}


def named_files(variables: Mapping[str, str]) -> Tuple[Path, ...]:
    """Returns the files of this machine that variables name, which the container needs at the same paths."""
    paths = {Path(value) for value in variables.values() if value.startswith('/')}
    return tuple(sorted(path for path in paths if path.is_file()))


def parse_image_variables(lines: Sequence[str]) -> Dict[str, str]:
    """Reads the `Env` of an image's configuration."""
    return {name: value for name, _, value in (str(line).partition('=') for line in lines)}
