"""Files: sets, tables, traces, SQLite, SVG."""
