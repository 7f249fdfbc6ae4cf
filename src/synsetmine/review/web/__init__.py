"""The review page and the HTTP API."""
