// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package actuator makes a Record of Kubizone of each DNSRecord of Gardener (extensions.gardener.cloud/v1alpha1).
//
// It promises:
//
//  1. The name of the Record follows from the domain name and the type alone, so that the DNSRecord of another seed
//     continues the same Record: a control-plane migration removes and adds nothing.
//  2. A Record has one owner, the namespace and name of its DNSRecord. A Record that another DNSRecord made is neither
//     changed nor removed.
//  3. A Record that may exist is removed with its DNSRecord, also if its first reconciliation failed: the condition
//     Created is Unknown from before the first write until the first success.
//  4. A kubeconfig of a Secret executes no program and reads no file. Its server holds a worker no longer than
//     CallTimeout a request, leads to no other server, and fills no memory.
//  5. Each error has exactly one code of Gardener.
//  6. The Zone is written into the status once, and binds no Record: spec.zone alone does.
//
// The order of operations, the operation annotation and the status are Gardener's library
// (extensions/pkg/controller/dnsrecord).
//
// Read actuator.go first, then record.go and codes.go.
package actuator
