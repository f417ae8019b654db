// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bindagent is kubizone bind-agent: it runs an HTTP server beside named that adds, changes and removes zones
// (docs/bind-agent.md). The program bind-agent has only this command.
//
// Guarantees:
//
//	B1. Options are validated together before the start, and each error names the flag.
//	B2. A line that begins with "ready" prints the address. No request is answered before this line.
//	B3. Keys, tokens and certificates are read for each use: new files need no restart. An unreadable certificate
//	    leaves the last one in use.
//	B4. When the context ends, the server finishes the current requests, and returns.
//	B5. Without a certificate the server listens only on loopback, because tokens could be read on the way.
//	B6. Connections are bounded, in total and per address. Unauthenticated peers cannot keep a client out: if they use
//	    all their connections, the oldest is closed.
//	B7. With --supervise an agent that ends or hangs is restarted, and the probe address accepts connections exactly
//	    while named answers, with or without the agent.
//
// Out of scope: the requests about zones, which package agent of pkg/bind9 serves.
//
// Read options.go, and supervisor.go for the process above the agent.
package bindagent
