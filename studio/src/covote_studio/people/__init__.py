"""Who is in a project, what they know, how they get in."""
