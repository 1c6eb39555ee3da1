"""Literal reading of a repository: what its files say, word for word, judged for a GPU that need not be here.

`judge.lint` is the whole of it: `tree` lists the files, `readers` turn them into environments, `rules` judge each environment for each
target, `severity` weighs what they find, `report` renders. What would have to be computed (a variable, a
branch, a loop, an expression, a called script) is not read, and counted.
"""
