// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traced wraps the API server's chain of admission plugins, to record OpenTelemetry spans. A request has a span
// for the plugins that change the object, and another for validating plugins. Without a tracing configuration nothing
// is recorded.
//
// Guarantees:
//  1. Spans never change the chain's decision.
//  2. A refusal's span has no message, because the message may name objects of other tenants.
package traced
