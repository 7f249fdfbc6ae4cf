"""Tools for language models over the Model Context Protocol (MCP)."""
