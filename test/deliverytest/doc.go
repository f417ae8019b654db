// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deliverytest tests implementations of delivery.Provider: Run examines the whole contract. Memory is a
// provider that passes, Zone makes content.
//
// Guarantees: (1) A provider that passes Run keeps the contract under repetition, half-written plans, cancelled
// contexts, lost fences and foreign data. (2) Data is compared octet by octet in canonical form, to find errors in
// escaping, splitting or letter case (attacks 24 to 26). (3) Memory fails only as the test chooses.
//
// Read suite.go first, then exam.go, memory.go and zone.go.
package deliverytest
