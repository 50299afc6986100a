"""Where votes are decoded if they do not fit into one machine."""
