"""From an item in somebody's hands to a label: leases, answers, whom to ask next, results."""
