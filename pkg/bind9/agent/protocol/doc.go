// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol has the words of the HTTP API by which a server of BIND's zones is changed, /api/v1 of bindcar 0.9,
// of which the agent takes those about zones.
//
// It promises:
//
//	P1. A field means to the agent what it means to bindcar 0.9, or is not read by it.
//	P2. The comment of a field that the agent alone takes or gives says "agent".
//
// The package knows the form of bodies alone. Their meaning is in pkg/bind9/agent, their use in its client.
//
// Read protocol.go.
package protocol
