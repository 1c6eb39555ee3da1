# Chores; CONTRIBUTING.md lists them.
.PHONY: test lint fix regen build ci

test:
	python -m pytest -q -n auto

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

build:
	python -m build

ci:
	.ci/run
