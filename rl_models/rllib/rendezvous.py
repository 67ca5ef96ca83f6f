"""Where learners meet: their sockets are bound to the address at which Ray knows their node, never to all of them.

torch's store of keys and values, through which learners find each other, listens on every address of the machine and
asks nobody for a token. On a cluster that keeps to 127.0.0.1 it would be the one door that faces the network.
"""

from __future__ import annotations

import importlib
import os
import socket
from typing import Any

import ray
from torch.distributed import TCPStore

__all__ = ["keep_to_nodes_address"]


def keep_to_nodes_address() -> None:
    """For this process, before it joins a process group: bind torch's store and gloo to the node's own address."""
    # What `init_process_group` makes its store with; `torch.distributed.rendezvous` is a function of that module.
    importlib.import_module("torch.distributed.rendezvous").__dict__["TCPStore"] = _store
    if ray.util.get_node_ip_address() in ("127.0.0.1", "::1"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", _loopback())


def _store(host_name: str, port: int, *, is_master: bool = False, **named: Any) -> TCPStore:
    """Torch's store; where it is the one that listens, on an address that we bind."""
    if is_master:
        family = socket.AF_INET6 if ":" in host_name else socket.AF_INET
        named["master_listen_fd"] = socket.create_server((host_name, port), family=family).detach()
    return TCPStore(host_name, port, is_master=is_master, **named)


def _loopback() -> str:
    """Name of the loopback interface: `lo` on Linux, `lo0` on macOS."""
    return next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")
