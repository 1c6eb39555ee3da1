"""Secrets out of anything that is shared. A room without a face: every command needs secret_names.py, few the redactor itself."""
