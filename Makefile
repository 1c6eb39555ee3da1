# Chores; CONTRIBUTING.md lists them.
.PHONY: test slow lint fix regen build site ci

test:
	python -m pytest -q -n auto --dist worksteal

slow:
	python -m pytest -q -n auto --dist worksteal -m "(slow or hypothesis) and not torch and not jax" --hypothesis-profile long

lint:
	ruff check .
	ruff format --check .
	mypy
	lint-imports
	rocm-doctor matrix lint
	python scripts/regen.py --check

fix:
	ruff check --fix .
	ruff format .

regen:
	python scripts/regen.py
	python scripts/picture.py

build:
	python -m build
	python -m build --wheel --outdir dist compat_matrix

site:
	python scripts/build_site.py
	python scripts/browse_site.py build/site

ci:
	.ci/run
