// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package ledger_test

const raceDetector = false
