// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet is the command kubizone fleet. It runs BIND servers in Kubernetes, as objects of the API group
// bind9.kubi.zone describe them. No other process of Kubizone has rights on Secrets, Deployments and Services. If
// several run, a Kubernetes Lease elects the process that works.
//
// Guarantees:
//  1. A process that loses the Lease exits.
//  2. The Lease also names the installation. Objects of another installation are never changed.
//
// Read options.go, then run.go.
package fleet
