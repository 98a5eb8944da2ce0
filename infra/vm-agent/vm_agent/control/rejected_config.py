"""Ends the job of a VM whose configuration was not written with this agent, so that the job has the cause."""

import json
import time
from functools import partial

from vm_agent.control.config import ConfigError
from vm_agent.control.heartbeats import PROTOCOL_VERSION, post_heartbeat
from vm_agent.control.metadata_server import BOOT_POLICY, MetadataMissing, MetadataServer, identity_token
from vm_agent.http.retry import TransientError, call_with_retry
from vm_agent.metrics.samples.progress import Progress
from vm_agent.program.exit_report import ExitReport
from vm_agent.program.usage import Usage


def report_rejected_config(metadata: MetadataServer, error: ConfigError) -> bool:
    """Sends the exit if the configuration names the replica and the control plane. Returns whether it was answered."""
    try:
        config = json.loads(metadata.attribute('dropforge-config'))
        body = {
            'protocol': PROTOCOL_VERSION,
            **{key: config.get('spec', config)[key] for key in ('jobId', 'attempt', 'role', 'index')},
            # After those of an earlier boot, if there was one.
            'sequence': int(time.time()),
            'phase': 'EXITED',
            'usage': Usage().to_json(),
            'progress': Progress().to_json(),
            'exit': ExitReport('AGENT_FAILED', str(error)).to_json(),
        }
        token = identity_token(metadata, config['endpoints']['heartbeatAudience'])
        post = partial(post_heartbeat, config['endpoints']['heartbeatUrl'], token, json.dumps(body).encode())
        return call_with_retry(post, BOOT_POLICY).status == 200
    except (KeyError, TypeError, ValueError, MetadataMissing, TransientError):
        return False
