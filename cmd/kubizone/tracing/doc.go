// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing adds kube-apiserver's flag --tracing-config-file to commands, and makes the OpenTelemetry provider
// that the file configures.
//
// Guarantees:
//
//  1. Without the flag there are no spans.
//  2. A file is read and validated before anything starts.
package tracing
