"""The smoke worker: run by the examined interpreter as `python .../workers smoke`, importing nothing of ours and nothing by name.

Everything in this folder is Python 3.8 syntax, the standard library, and torch & co. inside functions. Features of torch are
asked for (`hasattr`), never guessed from a version. The modules reach one another by relative imports, whatever their package
is called: `rocm_doctor.workers.smoke` for the runner and the tests, a made-up name where no rocm_doctor is installed.
"""
