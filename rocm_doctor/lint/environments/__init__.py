"""Which environments a repository declares, and what each is for: AMD, another accelerator, the CPU, or no one in particular."""
