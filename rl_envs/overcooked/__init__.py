"""Overcooked: two chefs, onion soup, five classic kitchens."""
