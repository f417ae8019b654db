// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery runs `kubizone up`, as it is shipped, against providers that the tests are, and counts.
//
// It promises: (1) what is counted is what the server itself counts (apiserver_request_total) and what arrives at the
// provider; (2) nothing is measured by a clock: waits are for facts, with a generous end; (3) what is idle is watched
// for a few seconds, or for as long as KUBIZONE_TEST_IDLE says (make test-idle: 1,000 zones for ten minutes).
//
// It does not know how deliveries work: pkg/delivery/schedule proves that, under a clock of its own.
//
// Read world_test.go first.
package delivery
