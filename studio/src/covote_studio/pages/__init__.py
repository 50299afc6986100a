"""The pages: each module translates between HTTP and the studio, and computes nothing."""
