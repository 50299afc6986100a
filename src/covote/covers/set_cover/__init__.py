"""Selecting from a pool as a weighted set cover."""
