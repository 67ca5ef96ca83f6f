"""Worlds as Gymnasium, PettingZoo and RLlib environments. Import the module that you need; none is imported here."""
