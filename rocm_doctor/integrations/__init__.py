"""Where people already are: issue trackers, agents and training scripts."""
