"""Covers with a prescribed automorphism group."""
