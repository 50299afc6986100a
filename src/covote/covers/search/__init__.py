"""Covers that are searched for."""
