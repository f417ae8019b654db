// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint is the command kubectl kubizone lint. It judges manifests without a server, by package client/lint.
//
// Guarantees: (1) Every object is judged, and any error gives exit code 1.
package lint
