"""HTTP requests, retries and cached tokens: what every client in the agent is built on."""
