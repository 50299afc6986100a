"""Changes to a project while people work in it; every change is on record."""
