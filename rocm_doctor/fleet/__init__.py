"""Many nodes: run the doctor on each through an engine that is there (`run`), judge the reports together (`judge`)."""
