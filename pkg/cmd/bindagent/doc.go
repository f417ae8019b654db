// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bindagent is kubizone bind-agent: an HTTP server beside named to add, change and remove zones
// (docs/bind-agent.md). The program bind-agent has only this command.
//
// Guarantees:
//
//	B1. Options are validated together before the start, and each error names the flag.
//	B2. A line that begins with "ready" has the address; before that no request is answered.
//	B3. Keys, tokens and certificates are read for each use: new files need no restart. An unreadable certificate
//	    leaves the last one in use.
//	B4. When the context ends, the server finishes the current requests, and returns.
//	B5. Without a certificate it listens only on loopback, because tokens could be read on the way.
//	B6. Connections are bounded, in total and per address. Unauthenticated peers keep no client out: if their
//	    connections are all in use, the oldest is closed.
//	B7. With --supervise an agent that ends or hangs is restarted, and the probe address accepts connections exactly
//	    while named answers, with or without the agent.
//
// Out of scope: zones: package agent in pkg/bind9 serves the requests.
//
// Read options.go, and supervisor.go for the process above the agent.
package bindagent
