// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console drives the pages of kubectl kubizone console in headless Chromium, against kubizone up.
//
// Guarantees: (1) without a browser each test is skipped with the package to install, or fails if
// KUBIZONE_TEST_REQUIRE_ALL is set; (2) UPDATE=1 writes the pictures of docs/images and testdata, every other run
// compares them.
//
// Read stage_test.go first.
package console
