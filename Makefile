# Every chore, by one name each. CI calls the same targets. Needs git, make and python3 >= 3.11; no uv, no prior installs.
PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= auto
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps

.DEFAULT_GOAL := help
.PHONY: help docs coverage matrix lowest changelog dist demo notebook notebooks test browser model model-controllers sweep mutants fuzz fuzz-inputs test-cluster control-plane scenarios check format bench guard soak restarts clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 15

# An interpreter of its own, and a pip that knows dependency groups (PEP 735).
$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dynkube requires Python 3.11 or later; run 'make PYTHON=python3.12 ...'"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/demo: $(STAMPS)/venv pyproject.toml dynkube-testing/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli,testing]' --editable ./dynkube-testing
	@touch $@

$(STAMPS)/test: $(STAMPS)/venv pyproject.toml dynkube-testing/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --editable ./dynkube-testing --group test
	@touch $@

$(STAMPS)/docs: $(STAMPS)/venv pyproject.toml dynkube-testing/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --editable ./dynkube-testing --group docs
	@touch $@

$(STAMPS)/coverage: $(STAMPS)/venv pyproject.toml dynkube-testing/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --editable ./dynkube-testing --group coverage
	@touch $@

$(STAMPS)/matrix: $(STAMPS)/venv pyproject.toml dynkube-testing/pyproject.toml
	$(BIN)/python -m pip install --quiet --group matrix
	@touch $@

$(STAMPS)/release: $(STAMPS)/venv pyproject.toml dynkube-testing/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --editable ./dynkube-testing --group release
	@touch $@

$(STAMPS)/mutants: $(STAMPS)/venv pyproject.toml dynkube-testing/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --editable ./dynkube-testing --group mutants
	@touch $@

$(STAMPS)/browser: $(STAMPS)/venv pyproject.toml dynkube-testing/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --editable ./dynkube-testing --group browser
	@touch $@

$(STAMPS)/check: $(STAMPS)/venv pyproject.toml dynkube-testing/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --editable ./dynkube-testing --group check
	@touch $@

$(STAMPS)/notebook: $(STAMPS)/venv pyproject.toml dynkube-testing/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --editable ./dynkube-testing --group notebooks
	@touch $@

demo: $(STAMPS)/demo ## run the demo: an informer whose resource is installed, filled, deleted and installed again
	$(BIN)/dynkube demo

notebook: $(STAMPS)/notebook ## open the notebooks in JupyterLab; ARGS="--no-browser" is passed on
	$(BIN)/jupyter lab --notebook-dir=notebooks $(ARGS)

notebooks: $(STAMPS)/test ## run the notebooks and store their outputs; ARGS="02" for some
	@$(BIN)/python -m tools.notebooks run $(ARGS)

test: $(STAMPS)/test ## run the tests on all cores; ARGS="..." is passed to pytest, JOBS=0 runs them in one process
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

coverage: $(STAMPS)/coverage ## run the tests and measure which lines and branches of dynkube they run
	$(BIN)/python -m pytest -n $(JOBS) -q --cov --cov-report=term --cov-report=html:build/coverage $(ARGS)

matrix: $(STAMPS)/matrix ## run the tests on each installed Python from 3.11 on; ARGS="-- tests/meta" for some tests
	$(BIN)/nox --sessions tests $(ARGS)

lowest: $(STAMPS)/matrix ## run the tests with the lowest direct dependencies of pyproject.toml
	$(BIN)/nox --sessions lowest $(ARGS)

browser: $(STAMPS)/browser ## run the browser tests (JupyterLab, foreign web pages) in headless Chromium; ARGS="--pictures" writes docs/images
	$(BIN)/python -m pytest tests/notebook/browser tests/testing/browser $(ARGS)

test-cluster: $(STAMPS)/test ## run the contract tests on real API servers too, building these first; ONLY=apiserver-current for one; ARGS="..." is passed to pytest
	@$(BIN)/python -m tools.control_plane test $(if $(OPTIONAL),--optional) $(if $(ONLY),--only $(ONLY)) $(ARGS)

model-controllers: $(STAMPS)/test ## run 10,000 random scripts against whole controllers; ARGS="--seeds 0-9999 --jobs 2"
	$(BIN)/python -m tests.controllers.model $(or $(ARGS),--seeds 0-9999)

model: $(STAMPS)/test ## run 10,000 random scripts against the model of informers; ARGS="--seeds 0-49 --examples 200 --jobs 2"
	$(BIN)/python -m tests.informers.model $(ARGS)

sweep: $(STAMPS)/test ## give each request of each feature each transient answer, and write docs/transient-answers.md; ARGS="--jobs 2"
	$(BIN)/python -m tests.sweep $(ARGS)

mutants: $(STAMPS)/mutants ## mutation testing: change the code in 300 places, one at a time; ARGS="--seed 7 --count 20 --jobs 2 rest"
	$(BIN)/python -m tools.mutants $(ARGS)

fuzz: $(STAMPS)/test ## compare random requests with a real API server; ARGS="--cluster a=KUBECONFIG --differential-examples 1000"
	$(BIN)/python -m pytest tests/contract/differential/test_differential.py -q -k "not embedded" $(ARGS)

fuzz-inputs: $(STAMPS)/test ## fuzz all input from outside with random bytes and requests; ARGS="patches --seconds 900"
	$(BIN)/python -m tests.fuzzing $(ARGS)

control-plane: $(STAMPS)/venv ## build the API servers, once (22 minutes on one core), and print their folders
	@$(BIN)/python -m tools.control_plane build

docs: $(STAMPS)/docs ## build the documentation site, with the API reference: build/docs/docs/index.html
	@$(BIN)/python -m tools.scenarios
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs -b html . build/docs

scenarios: $(STAMPS)/test ## write docs/scenarios.md: the tests of each scenario
	@$(BIN)/python -m tools.scenarios

check: $(STAMPS)/check ## check lint, format, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" pyright --verifytypes dynkube --ignoreexternal
	PATH="$(CURDIR)/$(BIN):$$PATH" pyright --verifytypes dynkube_testing --ignoreexternal
	$(BIN)/lint-imports

format: $(STAMPS)/check ## fix lint and format where possible
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMPS)/test ## run the benchmarks against the budgets, side by side with other clients
	$(BIN)/python -m benchmarks.compare $(ARGS)

guard: $(STAMPS)/test ## fail if a benchmark's ratio to its floor has become much worse; 20 seconds
	$(BIN)/python -m benchmarks.guard $(ARGS)

soak: $(STAMPS)/test ## run informers, and then 20 controllers, for an hour of virtual time with faults; ARGS="cluster --folder FOLDER" or "controllers-cluster --folder FOLDER" for ten minutes on a real server
	$(if $(ARGS),$(BIN)/python -m benchmarks.soak $(ARGS),$(BIN)/python -m benchmarks.soak embedded && $(BIN)/python -m benchmarks.soak controllers)

restarts: $(STAMPS)/test ## kill real API servers 50 times under informers; ARGS="--folder FOLDER --no-crd-rights"
	$(BIN)/python -m benchmarks.restarts $(ARGS)

changelog: $(STAMPS)/release ## move the news fragments into CHANGELOG.md; VERSION=0.2.0
	$(BIN)/towncrier build --version $(VERSION)

dist: $(STAMPS)/release ## build both distributions, check their metadata, and import each wheel in an environment of its own
	rm -rf dist build/dist
	$(BIN)/python -m build
	$(BIN)/python -m build --outdir dist dynkube-testing
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/dist
	build/dist/bin/python -m pip install --quiet dist/dynkube-*.whl
	cd build/dist && bin/python -c 'import dynkube; [getattr(dynkube, name) for name in dir(dynkube)]; print("dynkube", dynkube.__version__)'
	build/dist/bin/python -m pip install --quiet dist/dynkube_testing-*.whl
	cd build/dist && bin/python -c 'import dynkube_testing as t; [getattr(t, name) for name in dir(t)]; print("dynkube-testing", t.__version__)'

clean: ## remove everything that make created
	rm -rf $(VENV) build dist .nox .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
