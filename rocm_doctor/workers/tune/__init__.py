"""The worker of `tune`: training steps of one configuration after the other, in one process that imports everything once."""
