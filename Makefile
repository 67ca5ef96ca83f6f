# The commands of Concord. `make` alone lists them; each makes what it needs first.

.DEFAULT_GOAL := help
.PHONY: help venv venv-dev furnmove matrix verco demo check test slow lint type gpu bench cluster drills docs clean
.DELETE_ON_ERROR:

# The first interpreter that the project supports; `make PYTHON=/path/to/python3.12 venv` takes another.
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))
PYTHON ?= $(shell for candidate in python3.11 python3.12 python3; do \
	if $$candidate -c '$(SUPPORTED)' 2>/dev/null; then echo $$candidate; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev

# pip shows what it downloads.
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e

# Flags for an experiment, as in: make furnmove ARGS="--preset smoke --out runs/try"
ARGS ?=
# One part of the benchmarks, as in: make bench ONLY=furnmove
ONLY ?=

help: ## list these commands
	@echo "make COMMAND, where COMMAND is one of"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

venv: $(STAMP) ## make .venv with what a user needs, in the versions of constraints.txt
venv-dev: $(DEV) ## add what tests and documentation need

# Rewritten only when a dependency changed: the stamp is older than either file exactly then.
# An existing environment is updated in place, since the pins decide what is in it.
$(STAMP): pyproject.toml constraints.txt
	@test -n '$(PYTHON)' && $(PYTHON) -c '$(SUPPORTED)' 2>/dev/null || { \
		echo "Concord needs Python 3.11 or 3.12, and $(or $(PYTHON),nothing on the PATH) is neither: install one, or name it with 'make PYTHON=/path/to/python3.11 venv'." >&2; \
		exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: install its venv package (python3-venv on Debian and Ubuntu) and run make again." >&2; \
		exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) ".[envs,video]"
	@touch $@

$(DEV): $(STAMP)
	$(INSTALL) ".[dev,docs]"
	@touch $@

furnmove: $(STAMP) ## train SYNC and marginal policies on FurnMove and print the paper's table (ARGS="--preset smoke")
	$(BIN)/python tune_experiments/furnmove_sync.py $(ARGS)

matrix: $(STAMP) ## the matrix game that marginal policies cannot win, in under a minute (ARGS=...)
	$(BIN)/python tune_experiments/matrix_game.py $(ARGS)

# Kitchens of `make verco`, and the folder of their run folders and of the table over all of them
VERCO_TASKS ?= tomato_a tomato_b secret_order
VERCO_OUT ?= runs/verco

verco: $(STAMP) ## cooks who write to each other, in three kitchens, and a table over them (ARGS="--preset smoke")
	for task in $(VERCO_TASKS); do \
		$(BIN)/python tune_experiments/verco_salad.py --task $$task --out $(VERCO_OUT)/$$task $(ARGS) || exit; \
	done
	$(BIN)/python -m tune_experiments.verco.combined_table $(VERCO_OUT)

# One thread an operation: several processes share the cores, and sums keep their order.
demo: $(STAMP) ## a trained team at once: three episodes on a page, build/demo.html (ARGS="pretrained/overcooked_selfplay")
	@mkdir -p build
	$(BIN)/python -m tune_experiments show $(or $(ARGS),pretrained/endi_rtfm_matching --beside pretrained/endi_rtfm_divided) --out build/demo.html
	@echo "open build/demo.html in a browser"
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then $(BIN)/python -m webbrowser -t build/demo.html; fi

check test slow bench: export OMP_NUM_THREADS = 1
# Tests start hundreds of processes: all but the first of them find our modules compiled.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest --maxprocesses 4 --dist loadfile --no-loadscope-reorder -n
# Tests with Ray wait for other processes most of the time, so one process more than there are cores runs them.
CORES := $(shell getconf _NPROCESSORS_ONLN)

check: lint type ## style, types and the short tests without Ray and processes (100 seconds from the second run on)
	$(PYTEST) logical -m "not (ray or processes or cluster or browser or long or slow or models)" --max-cpu-seconds 0.1 $(ARGS)

test: lint type ## style, types and every test but the slow ones and those of real models
	$(PYTEST) $$(($(CORES) + 1)) -m "not (slow or models)" $(ARGS)

slow: $(DEV) ## the slow tests, and those of real language models where they were fetched
	$(PYTEST) logical -m "slow or models" --timeout 1800 $(ARGS)

SPELLED := rl_envs rl_models tune_experiments cluster benchmarks examples tests docs README.md CONTRIBUTING.md CHANGELOG.md
lint: $(DEV) ## style, formatting, spelling and the direction of imports, without changing a file
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell $(SPELLED)
	$(BIN)/lint-imports --no-logo

# What mypy infers may hang on the hash seed of its process.
type: export PYTHONHASHSEED = 0
type: $(DEV) ## static types
	$(BIN)/mypy

gpu: $(DEV) ## the tests that want a real GPU: teams on it, CUDA graphs, bfloat16 and continued runs
	CONCORD_GPU_TESTS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/gpu tests/rl_models/runtime/test_cuda_graph.py

bench: $(STAMP) ## measure, and write bench.jsonl (ONLY=furnmove for one part)
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

cluster: $(STAMP) ## a smoke experiment on three nodes on this machine, one of which dies
	$(BIN)/python -m cluster.testing.fault_injection worker_node_killed

drills: $(STAMP) ## fault injection: break what can break while a cluster trains, and report what was lost (ONLY=learner_killed for one)
	$(BIN)/python -m cluster.testing.fault_injection $(ONLY)

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(DEV) ## build the documentation into build/site; a broken link is an error
	$(BIN)/python -m mkdocs build --strict

clean: ## remove caches and generated pages; .venv and runs stay
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist ./*.egg-info bench.jsonl
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
