"""`bench` measures a GPU and says whether it is slow and why."""
