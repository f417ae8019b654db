// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traces connects the trace of a write (OpenTelemetry) with the work that the write causes later: in the queue
// of a zone, in the journal, and in other processes. Queue and journal keep the traceparent of the write's span, a text
// of 55 octets. The span of the work has a link to the span of the write.
//
// Guarantees:
//
//  1. Only a span that this process records has a traceparent. The header of a client alone gives none.
//  2. The span of work is recorded if, and only if, the span of a causing write is.
//
// Package tracing of component-base samples and exports spans. Attributes of spans never contain record data or keys.
package traces
