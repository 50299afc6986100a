"""Changes of a project while people work in it; every change is on record."""
