"""Files: votes, labels, reports."""
