# The front door. `make help` lists what there is.
.DEFAULT_GOAL := help
.PHONY: help up down test build bench lint format setup

help:     ## this list
	@sed -nE 's/^([a-z]+): +## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

up:       ## set everything up: a two-node Kubernetes with Slurm on it, and a job run through it
	@dev/setup --packages-only
	@dev/up

down:     ## take down what `make up` started, leaving nothing behind
	@dev/cluster down

test:     ## set up, then run all tests (CI runs exactly this)
	@dev/setup --packages-only
	@dev/test

build:    ## compile the release build
	@dev/setup --packages-only
	@dev/build

bench:    ## run all benchmarks; `bench/run NAME` runs one
	@dev/setup --bench
	@bench/run

lint:     ## formatting, clang-tidy, include directions, scripts, file sizes
	@dev/setup --packages-only
	@dev/lint

format:   ## rewrite all sources in the project's format
	@dev/setup --packages-only
	@dev/lint --fix

setup:    ## install what this machine lacks, build the cluster's parts
	@dev/setup
