// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol has the words of the HTTP API by which a server of BIND's zones is changed, /api/v1 of bindcar 0.9,
// which the agent speaks too (openapi.yaml of pkg/bindagent).
//
// It promises:
//
//	P1. A body of a client of bindcar 0.9 means to the agent what it means to bindcar.
//	P2. What the agent alone takes or says is marked with "agent" in the comment of the field.
//
// The package knows the form of bodies alone: what a value means the agent says, and what to send its client.
//
// Read protocol.go.
package protocol
