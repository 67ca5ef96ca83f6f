"""Pretrained models by name: catalogue, download, folders on this machine."""
