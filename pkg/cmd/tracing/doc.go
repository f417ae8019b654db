// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing has the flag --tracing-config-file, kube-apiserver's, of the server and of the sub-commands beside
// it.
//
// Guarantees: (1) Without the flag no span is made. (2) A file is read and judged before anything starts.
//
// Out of scope: the spans (package traces).
//
// Read tracing.go.
package tracing
