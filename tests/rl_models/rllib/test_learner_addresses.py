"""Addresses at which the processes of several learners listen."""

import importlib
import os

from rl_models.rllib import learner


def test_gloo_and_nccl_keep_to_the_loopback_where_a_node_has_no_other_address(monkeypatch):
    rendezvous = importlib.import_module("torch.distributed.rendezvous")
    monkeypatch.setattr(rendezvous, "TCPStore", rendezvous.TCPStore)  # brought back after the test
    monkeypatch.setattr(learner.ray.util, "get_node_ip_address", lambda: "127.0.0.1")
    names = [f"{backend}_SOCKET_IFNAME" for backend in ("GLOO", "NCCL")]
    for name in names:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    learner.bind_to_node_address()
    assert [os.environ[name] for name in names] == [learner.loopback()] * 2
