// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package lint pins the linters that hack/verify-lint.sh runs.
package lint

import (
	_ "golang.org/x/vuln/cmd/govulncheck"
	_ "honnef.co/go/tools/cmd/staticcheck"
)
