"""Where a project is kept: its tables, its pictures and sounds."""
