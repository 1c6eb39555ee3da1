"""The site: pages written from the matrix and from docs/, as markdown with HTML blocks, for MkDocs Material."""
