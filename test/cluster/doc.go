// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster tests `kubizone apiserver` behind a real kube-apiserver: stories for users, attacks on identity,
// webhooks, etcd's security, and outages.
//
// Guarantees:
//
//  1. Every story in testdata runs through the aggregator, as system:masters and as a tenant with rights in two
//     namespaces.
//  2. A story has its own namespaces and domain, and never sleeps.
//  3. A test that stops a server runs alone and restarts it.
//  4. Server and tenants have only the rights of artifacts/deploy.
//
// Read cluster_test.go for the setup, story_test.go for the commands, then testdata/delegate.txtar.
package cluster
