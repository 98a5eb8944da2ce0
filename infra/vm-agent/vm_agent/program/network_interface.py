"""The network interface by which the replicas of a cluster reach each other."""

import fcntl
import socket
import struct
from typing import Optional

# linux/sockios.h and `struct ifreq`: a name of 16 bytes, then the address as a sockaddr_in.
SIOCGIFADDR = 0x8915
NAME_BYTES = 16


def find_interface(host: str) -> Optional[str]:
    """
    Returns the name of the interface with the address from which this machine sends to `host`, over IPv4; None if
    there is none, or not on Linux. `host` is another replica's: this machine can be on the loopback by its own name.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # With a datagram's socket, this selects the route and sends nothing.
            probe.connect((host, 9))
            address = socket.inet_aton(probe.getsockname()[0])
        except OSError:
            return None
        names = [name for _, name in socket.if_nameindex()]
        return next((name for name in names if _read_address(probe, name) == address), None)


def _read_address(probe: socket.socket, name: str) -> bytes:
    try:
        request = struct.pack('256s', name.encode()[: NAME_BYTES - 1])
        return fcntl.ioctl(probe.fileno(), SIOCGIFADDR, request)[NAME_BYTES + 4 : NAME_BYTES + 8]
    except OSError:
        # It has no address, or the system is another one.
        return b''
