"""Panels of experts with given, unequal sizes."""
