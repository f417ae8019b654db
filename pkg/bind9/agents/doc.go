// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agents keeps a client for the agent of each BIND server in a DNSClass.
//
// Guarantees: (1) Classes with the same server share a client and its rate. (2) A request has the current credentials
// of the agent's Secrets; after a 401 it is repeated once with a newer token. (3) The last credentials stay in use
// while a Secret is unreadable, but not after its deletion.
//
// Out of scope: the requests about zones.
//
// Read agents.go.
package agents
