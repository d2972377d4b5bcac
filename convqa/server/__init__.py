"""The HTTP API, the web page, and the MCP server."""
