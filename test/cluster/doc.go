// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs `kubizone apiserver` behind a real kube-apiserver: stories for users, attacks on identity,
// webhooks, replicas, what etcd asks for and keeps, and what is there when the server or kube-apiserver is away.
//
// It promises:
//  1. Every story in testdata runs twice, as system:masters and as a tenant with rights in two namespaces, through
//     the aggregator in both cases.
//  2. A story has namespaces and a domain of its own; nothing else is shared but the servers.
//  3. A test that takes a server away runs alone and brings it back.
//  4. The server and the tenants have the rights that artifacts/deploy gives them, and no other.
//  5. A story waits for facts that it can ask for, and never sleeps.
//
// It does not know any package of the module but test/rig: it builds cmd/kubizone and meets it as a cluster does.
//
// Read cluster_test.go for what runs, story_test.go for the words that a story has, then testdata/delegate.txtar.
package cluster
