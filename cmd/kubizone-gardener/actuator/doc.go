// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package actuator writes a Record of Kubizone for each DNSRecord of Gardener (extensions.gardener.cloud/v1alpha1).
//
// Guarantees:
//
//  1. A Record's name depends on domain name and type alone: another seed's DNSRecord continues the Record.
//  2. A Record has a single owner, the namespace and name of its DNSRecord. Other Records are left alone.
//  3. A Record that may exist is removed with its DNSRecord: the condition Created is Unknown from before the first
//     write until the first success.
//  4. A Secret's kubeconfig executes no program and reads no file. Its server can neither block a worker for longer
//     than CallTimeout per request, redirect requests, nor fill the memory.
//  5. Each error has exactly one code of Gardener.
//  6. The Zone is written into the status once. Only spec.zone binds the Record.
//
// Gardener's library handles the operation annotation and the status.
//
// Read actuator.go first, then record.go and codes.go.
package actuator
