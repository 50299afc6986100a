"""Covers that are written down by a rule."""
