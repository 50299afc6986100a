"""Items, votes and panels from files, and labels into files."""
