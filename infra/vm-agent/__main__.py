"""Where Python starts when it is given the agent's archive (or this folder)."""

import sys

from vm_agent.main import main

sys.exit(main())
