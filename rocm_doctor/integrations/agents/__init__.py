"""Coding agents: a server of the Model Context Protocol (`server.py`), and SKILL.md, which tells an agent when to call what."""
