"""The entry point when Python runs the packed agent, or this folder."""

import os
import sys
from pathlib import Path

from vm_agent.main import main
from vm_agent.shell.enter import DEFAULT_HOME, enter

if sys.argv[1:2] == ['enter']:
    sys.exit(enter(Path(os.environ.get('DROPFORGE_HOME', DEFAULT_HOME)).absolute(), sys.argv[2:]))
sys.exit(main())
