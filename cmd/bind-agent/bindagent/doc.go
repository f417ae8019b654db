// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bindagent is kubizone bind-agent, and the program bind-agent: an HTTP server beside BIND that adds, changes
// and removes zones (docs/bind-agent.md).
//
// Guarantees:
//
//	B1. Options are validated together before the start; errors name the flag.
//	B2. No request is answered before the program has printed a line that begins with "ready".
//	B3. Keys, tokens and certificates are read for each use. If a certificate is unreadable, the last readable
//	    certificate stays in use.
//	B4. When the context ends, current requests are finished.
//	B5. Without a certificate the server listens only on loopback, because a host on the way could read tokens.
//	B6. Connections are bounded, in total and per address. The oldest unauthenticated connection is closed, so that no
//	    client is kept out.
//	B7. With --supervise an agent that ends or hangs is restarted, and the probe address accepts connections exactly
//	    while BIND answers.
//
// Read options.go, then supervisor.go.
package bindagent
