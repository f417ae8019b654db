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
// Read first: faults_test.go, places_test.go, world_test.go.
package oncall
