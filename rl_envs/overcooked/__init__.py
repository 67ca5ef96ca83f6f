"""Overcooked: two cooks, onion soup, five classic kitchens."""
