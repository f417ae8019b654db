// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traces carries the context of a span (OpenTelemetry) from a write to the work that the write causes: through
// the queue of a zone, the journal, and other processes.
//
// Guarantees:
//
//  1. Only a span that this process records has a traceparent: the header of a client alone gives none.
//  2. Work is recorded exactly if a cause of the work is. Without a recorded cause nothing is allocated.
//  3. A span has at most MaxCauses links.
//
// Out of scope: sampling and export (package tracing of component-base), and the attributes of spans: never record data
// or keys.
//
// Read traces.go.
package traces
