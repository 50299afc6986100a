"""Panels from nothing, from what there is, and from what is too much."""
