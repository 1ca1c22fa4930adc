# Every chore, by one name each. CI calls the same targets. Needs git, make and python3 >= 3.11; no uv, no prior installs.
PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= auto
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps

.DEFAULT_GOAL := help
.PHONY: help docs demo notebook notebooks test browser model mutants fuzz fuzz-inputs test-cluster control-plane scenarios check format bench soak restarts clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 15

# An interpreter of its own, and a pip that knows dependency groups (PEP 735).
$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dynkube needs Python 3.11 or later; say 'make PYTHON=python3.12 ...'"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/demo: $(STAMPS)/venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli,serve]'
	@touch $@

$(STAMPS)/test: $(STAMPS)/venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group test
	@touch $@

$(STAMPS)/docs: $(STAMPS)/venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group docs
	@touch $@

$(STAMPS)/mutants: $(STAMPS)/venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group mutants
	@touch $@

$(STAMPS)/browser: $(STAMPS)/venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group browser
	@touch $@

$(STAMPS)/check: $(STAMPS)/venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group check
	@touch $@

$(STAMPS)/notebook: $(STAMPS)/venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group notebooks
	@touch $@

demo: $(STAMPS)/demo ## show the main job: a resource that appears, fills, goes and returns
	$(BIN)/dynkube demo

notebook: $(STAMPS)/notebook ## open the notebooks in JupyterLab; ARGS="--no-browser" goes to it
	$(BIN)/jupyter lab --notebook-dir=notebooks $(ARGS)

notebooks: $(STAMPS)/test ## run the notebooks, and write what they show into them; ARGS="02" for some
	@$(BIN)/python -m tools.notebooks run $(ARGS)

test: $(STAMPS)/test ## run the tests, on all cores; ARGS="..." goes to pytest, JOBS=0 keeps them in one process
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

browser: $(STAMPS)/browser ## drive JupyterLab, and pages of strangers, in a chromium without a window; ARGS="--pictures" writes docs/images
	$(BIN)/python -m pytest tests/notebook/browser tests/testing/browser $(ARGS)

test-cluster: $(STAMPS)/test ## run what a cluster decides on real API servers too; builds them first; ARGS="..." goes to pytest
	@$(BIN)/python -m tools.control_plane test $(if $(OPTIONAL),--optional) $(ARGS)

model: $(STAMPS)/test ## play 10,000 random scripts of what may happen to informers; ARGS="--seeds 0-49 --examples 200 --jobs 2"
	$(BIN)/python -m tests.informers.model $(ARGS)

mutants: $(STAMPS)/mutants ## change the code in 300 places, one at a time, and see whether tests fail; ARGS="--seed 7 --count 20 --jobs 2 rest"
	$(BIN)/python -m tools.mutants $(ARGS)

fuzz: $(STAMPS)/test ## compare random requests with a real API server; ARGS="--cluster a=KUBECONFIG --differential-examples 1000"
	$(BIN)/python -m pytest tests/contract/differential/test_differential.py -q -k "not embedded" $(ARGS)

fuzz-inputs: $(STAMPS)/test ## random bytes and requests where they come in from outside; ARGS="patches --seconds 900"
	$(BIN)/python -m tests.fuzzing $(ARGS)

control-plane: $(STAMPS)/venv ## build these API servers, once (22 minutes on one core), and print their folders
	@$(BIN)/python -m tools.control_plane build

docs: $(STAMPS)/docs ## build the documentation site, with the API reference: build/docs/docs/index.html
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs -b html . build/docs

scenarios: $(STAMPS)/test ## write docs/scenarios.md: which test shows which scenario
	@$(BIN)/python -m tools.scenarios

check: $(STAMPS)/check ## lint, format, types, floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" pyright --verifytypes dynkube --ignoreexternal
	$(BIN)/lint-imports

format: $(STAMPS)/check ## mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMPS)/test ## measure against the budgets, side by side with the peers
	$(BIN)/python -m benchmarks.compare $(ARGS)

soak: $(STAMPS)/test ## informers for an hour of virtual time, with faults; ARGS="cluster --folder FOLDER" for ten minutes of a real server
	$(BIN)/python -m benchmarks.soak $(or $(ARGS),embedded)

restarts: $(STAMPS)/test ## kill real API servers 50 times under informers; ARGS="--folder FOLDER --no-crd-rights"
	$(BIN)/python -m benchmarks.restarts $(ARGS)

clean: ## remove what make made
	rm -rf $(VENV) build/docs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
