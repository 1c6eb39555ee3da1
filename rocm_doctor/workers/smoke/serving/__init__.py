"""The stages for engines that serve models: llama.cpp and vLLM start on a tiny made-up model and answer one completion.

Nothing is downloaded. The model has random weights and no words: prompts are token ids.
"""
