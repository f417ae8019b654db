// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery runs `kubizone up` against providers in the test process, and counts requests.
//
// Guarantees: (1) Counts are the server's (apiserver_request_total) and the provider's. (2) No test measures time. (3)
// Idleness is watched for a few seconds, or for KUBIZONE_TEST_IDLE (make test-idle: 1,000 zones for ten minutes).
//
// Read world_test.go first.
package delivery
