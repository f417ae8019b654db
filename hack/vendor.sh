#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Writes into the directory given what the modules of go.work ask for, without what nothing of this repository uses and everything
# would compile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

GOFLAGS= go work vendor -o "$1"
# A helper of upstream's own tests in a file that is no test file: it alone brings client-go's fake clients, sixty
# packages, into each build of an API server.
rm "$1/k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_test_context.go"
