"""The entry point when Python runs the packed agent, or this folder."""

import sys

from vm_agent.main import main

sys.exit(main())
