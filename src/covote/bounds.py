"""Every bound, paper and beyond, one function each."""
