"""Many nodes: their reports are judged together (`judge`)."""
