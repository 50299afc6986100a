"""The report on a file of votes: one HTML page with everything in it."""
