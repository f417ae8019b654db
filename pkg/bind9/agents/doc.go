// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agents keeps one client for the agent of each BIND server that a DNSClass selects.
//
// It promises: (1) Classes that select one server share its client, and with it the pace of its requests. (2) A
// request carries what the Secrets of the agent have at that time; one that is refused for its token is sent once
// more with a newer one. (3) While a Secret cannot be read, what it had stays in use; a Secret that is gone does not.
//
// It does not know zones, nor what an agent is asked: pkg/bind9/provider and pkg/bind9/signing ask.
//
// Read agents.go.
package agents
