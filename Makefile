# Sets up one .venv and passes on to `vigil`, which does the work: `vigil VERB --help` says more than this page.
# Make itself ends with 2 whenever a command fails. For the exit codes 0 to 4, call .venv/bin/vigil.

PYTHON ?= python3
VENV := .venv
VIGIL := $(VENV)/bin/vigil
FRAMEWORKS := torch tensorflow jax

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup reproduce preflight verify audit narrow determinism triage matrix compare nightly drift report reference golden resume recipes check \
  dashboard sync sample test test-long test-slow bench calibrate lint clean

# What is passed on, when it is given. Also where the verb has no such option: vigil then says so, and nothing is left out in silence.
option = $(if $($(2)),--$(1)='$($(2))')
CONTEXT = $(call option,framework,FRAMEWORK) $(call option,mode,MODE) $(call option,precision,PRECISION) \
  $(call option,device,DEVICE) $(call option,devices,DEVICES) $(call option,shards,SHARDS) \
  $(call option,determinism,DETERMINISM) $(call option,randomness,RANDOMNESS) $(call option,attention,ATTENTION) \
  $(call option,release,RELEASE)
ANSWER = $(call option,json,JSON) $(ARGS)
RUNS = $(call option,profile,PROFILE) $(call option,seeds,SEEDS) $(call option,fault,FAULT) \
  $(call option,jobs,JOBS) $(ANSWER)

# Where all recipes may be meant, none is named.
NAMED_RECIPE = $(if $(RECIPE),'$(RECIPE)')

# A framework that is missing or misspelt installs nothing: vigil then says what is allowed.
comma := ,
NAMED = $(filter $(FRAMEWORKS),$(subst $(comma), ,$(FRAMEWORK)))
CHOSEN = $(NAMED:%=$(VENV)/.%)
ALL = $(FRAMEWORKS:%=$(VENV)/.%)

help: ## List the targets
	@echo "make TARGET [RECIPE=resnet_cifar] [FRAMEWORK=torch|tensorflow|jax] [MODE=eager|jit|compile]"
	@echo "            [PRECISION=fp32|bf16|fp16|tf32|fp64] [DEVICE=cpu|gpu] [DEVICES=2] [SHARDS=80,48] [SEEDS=3]"
	@echo "            [PROFILE=smoke|quick|paper] [DETERMINISM=on|off] [RANDOMNESS=shared|native] [FAULT=FILE.py]"
	@echo "            [ATTENTION=default|math|flash|efficient|cudnn] [RELEASE=jax==0.9.2] [JOBS=2] [JSON=FILE]"
	@echo "            [ARGS='more options'] [PYTHON=python3.12]"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

reproduce: $(VENV)/.core $(CHOSEN) ## Train RECIPE on FRAMEWORK and judge the result against its band
	@$(VIGIL) reproduce '$(RECIPE)' $(CONTEXT) $(RUNS)

preflight: $(VENV)/.core $(CHOSEN) ## Would a run of RECIPE come to its end: try all that it needs, in seconds
	@$(VIGIL) preflight '$(RECIPE)' $(CONTEXT) $(RUNS)

verify: $(VENV)/.core $(CHOSEN) ## Hold single training steps of RECIPE against the golden tape; every context of all: ARGS=--all
	@$(VIGIL) verify $(NAMED_RECIPE) $(CONTEXT) $(RUNS)

audit: $(VENV)/.core $(CHOSEN) ## Hold the public functions of FRAMEWORK against definitions in float64: ARGS='softmax --quick'
	@$(VIGIL) audit $(CONTEXT) $(call option,fault,FAULT) $(ANSWER)

narrow: $(VENV)/.core $(CHOSEN) ## Which release brought a failure that SCRIPT shows: SCRIPT=my_script.py ARGS=--since
	@$(VIGIL) narrow '$(SCRIPT)' $(CONTEXT) $(call option,fault,FAULT) $(ANSWER)

determinism: $(VENV)/.core $(CHOSEN) ## Is a training of RECIPE bit for bit the same, where does it part, what does the switch cost
	@$(VIGIL) determinism $(NAMED_RECIPE) $(CONTEXT) $(call option,fault,FAULT) $(ANSWER)

triage: $(VENV)/.core ## What sort of failure the log of a training job ended with: LOG=train.log
	@$(VIGIL) triage '$(LOG)' $(ANSWER)

matrix: $(VENV)/.core $(CHOSEN) ## Run every context of every installed framework: RECIPE (default: all), PROFILE
	@$(VIGIL) matrix $(NAMED_RECIPE) $(CONTEXT) $(RUNS)

compare: $(VENV)/.core ## Same seeds under two releases, side by side: RECIPE, OLD=jax==0.9.2, NEW=jax==0.10.2, HOLD=flax==0.12.6
	@$(VIGIL) compare '$(RECIPE)' '$(OLD)' '$(NEW)' $(call option,hold,HOLD) $(CONTEXT) $(RUNS)

nightly: $(VENV)/.core ## Newest releases, all that is not covered yet: BUDGET=30m, NIGHTLY=1 (pre-releases), HOLD=torch==2.13.0
	@$(VIGIL) nightly $(NAMED_RECIPE) $(if $(NIGHTLY),--pre) $(call option,budget,BUDGET) $(call option,hold,HOLD) $(CONTEXT) $(RUNS)

drift: $(VENV)/.core ## What is drifting over nights and releases: RECIPE (default: all), PROFILE
	@$(VIGIL) drift $(NAMED_RECIPE) $(CONTEXT) $(RUNS)

report: $(VENV)/.core ## Write all results as one static site that opens from disk: OUT (default: reports/html), NIGHT=ID
	@$(VIGIL) report $(call option,night,NIGHT) $(call option,out,OUT) $(CONTEXT) $(RUNS)

sample: $(VENV)/.core ## Write the report of a history that was made up: reports/sample/index.html
	@$(VENV)/bin/python -m benchmarks.sample_report $(call option,out,OUT) $(ARGS)

reference: $(VENV)/.core $(CHOSEN) ## Verify, then add raw samples to reference_results/: RECIPE, FRAMEWORK or RELEASE, PROFILE, SEEDS
	@$(VIGIL) reference add '$(RECIPE)' $(CONTEXT) $(RUNS)

golden: $(VENV)/.core $(ALL) ## Make the golden tape of RECIPE again, all frameworks agreeing: RECIPE, PROFILE
	@$(VIGIL) golden '$(RECIPE)' $(CONTEXT) $(RUNS)

resume: $(VENV)/.core ## Continue a run from its last checkpoint: RUN=runs/...
	@$(VIGIL) resume '$(RUN)' $(call option,fault,FAULT) $(ANSWER)

recipes: $(VENV)/.core ## List the recipes, their profiles and published targets
	@$(VIGIL) recipes $(ANSWER)

check: $(VENV)/.core ## Validate recipe files: RECIPE=my.yaml, or all in recipes/
	@$(VIGIL) check $(if $(RECIPE),'$(RECIPE)',$(wildcard recipes/*.yaml)) $(ANSWER)

dashboard: $(VENV)/.core ## Open MLflow's pages on 127.0.0.1, timelines first
	@$(VIGIL) dashboard $(ANSWER)

sync: $(VENV)/.core ## Upload finished runs that the tracking server has not seen
	@$(VIGIL) sync $(ANSWER)

test: $(VENV)/.test $(ALL) ## Run the tests that need neither GPU nor network (all three frameworks)
	@$(VENV)/bin/python -m pytest -m 'not slow and not long' -n 2 --dist worksteal $(ARGS)

test-long: $(VENV)/.test $(ALL) ## Run the tests of tests/long.txt, which take longest; .ci/run does
	@$(VENV)/bin/python -m pytest -m 'long and not slow' -n 2 --dist worksteal $(ARGS)

test-slow: $(VENV)/.test $(ALL) ## Run the slow tests
	@$(VENV)/bin/python -m pytest -m slow -n 2 --dist loadfile $(ARGS)

bench: $(VENV)/.core $(or $(CHOSEN),$(ALL)) ## Compare each runner's speed with its own step's and a bare loop's: RECIPE (default: all)
	@$(VENV)/bin/python -m benchmarks $(call option,recipe,RECIPE) $(call option,framework,FRAMEWORK) $(ARGS)

calibrate: $(VENV)/.core ## Simulate every statistical rule: how often it is wrong, and what it sees
	@$(VENV)/bin/python -m benchmarks.band_calibration --markdown docs/statistics-tables.md $(ARGS)

lint: $(VENV)/.lint ## Check the style of the code, and its types
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy

setup: $(if $(FRAMEWORK),$(VENV)/.core $(CHOSEN),$(VENV)/.test $(ALL)) ## Install FRAMEWORK, or everything and the test tools

clean: ## Remove .venv and caches; runs/, data/ and the tracking store stay
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .mypy_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Set-up. A stamp in .venv says what is installed; a change of the two files below installs it again. ---

# Two makes in two windows share one .venv: the second waits for the first.
LOCKED = $(PYTHON) -c 'import fcntl, subprocess, sys; lock = open("Makefile"); fcntl.flock(lock, fcntl.LOCK_EX); \
  sys.exit(subprocess.call(sys.argv[1:]))'
INSTALL = $(LOCKED) $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e

$(VENV)/.core: pyproject.toml constraints.txt
	@command -v '$(PYTHON)' >/dev/null || { \
	  echo "$(PYTHON): not found. Vigil needs Python 3.10 to 3.13: install one, or name it with PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) --version 2>&1). Vigil needs Python 3.10 to 3.13: name one, as in" \
	  "PYTHON=python3.12" >&2; exit 2; }
	@test -x $(VENV)/bin/python || $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) lacks the venv module. On Debian and Ubuntu: sudo apt-get install python3-venv" >&2; exit 2; }
	@echo "Setting up $(VENV): core$(foreach name,$(NAMED), + $(name)). Once, a few minutes."
	@$(LOCKED) sh -c 'test -x $(VENV)/bin/pip || $(PYTHON) -m venv $(VENV)'
	@$(INSTALL) .
	@touch $@

$(ALL): $(VENV)/.%: $(VENV)/.core
	@echo "Installing $* into $(VENV)"
	@$(INSTALL) '.[$*]'
	@touch $@

$(VENV)/.test: $(VENV)/.core
	@echo "Installing the test tools into $(VENV)"
	@$(INSTALL) '.[test]'
	@touch $@

$(VENV)/.lint: $(VENV)/.core
	@echo "Installing the tools that check style and types into $(VENV)"
	@$(INSTALL) '.[lint]'
	@touch $@
