// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bindagent is kubizone bind-agent: an HTTP server beside one named, by which zones are added to it, changed
// and removed (docs/bind-agent.md). The program bind-agent is this command alone.
//
// It promises:
//
//	B1. Options are judged together before anything starts, and each fault names its flag.
//	B2. A line that begins with "ready" says where it listens; before that nothing is answered.
//	B3. Keys, tokens and certificates are read when they are needed: new ones take effect without a restart. A
//	    certificate that cannot be read leaves the last one in force.
//	B4. When its context ends it takes no new request, ends those under way, and returns.
//	B5. Without a certificate of its own it listens on loopback alone: tokens could be read on the way.
//	B6. Connections are bounded, in total and from one address. Peers without a right keep no client out: where all
//	    connections without an authenticated request are taken, the oldest is closed.
//	B7. With --supervise an agent that ends or hangs is restarted, and the probe address accepts connections exactly
//	    while named answers, with the agent or without.
//
// The package knows nothing of zones: the meaning of a request is in pkg/bind9/agent.
//
// Read options.go, and supervisor.go for the process above the agent.
package bindagent
