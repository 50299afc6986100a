"""Where a project is kept: its tables, its migrations, its pictures and sounds."""
