"""Where people already are: issue trackers, agents, notebooks, tests and training scripts."""
