// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oncall breaks an installation of the chart in sixteen ways, and reads the places of on-call people:
// conditions, kubectl kubizone status, why and doctor, and the chart's alerts.
//
// Guarantees:
//
//  1. Each place names the cause within a minute.
//  2. No place names a fault before the faults or after their end.
//
// docs/operations.md describes the repair.
//
// Read first: faults_test.go has the faults, places_test.go reads the places, world_test.go installs the chart.
package oncall
