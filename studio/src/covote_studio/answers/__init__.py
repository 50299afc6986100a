"""From an item in someone's hands to a label: leases, answers, whom to ask next, results."""
