// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agents makes the controller's HTTP clients for agents, the programs beside BIND servers that create and
// remove zones there. The client authenticates by a token from the Secret that a Bind9Instance names.
//
// Guarantees:
//  1. A request reads the Secret again if the last read is five seconds old. If the agent answers 401 and the Secret
//     has another token, the request is repeated once.
//  2. While a Secret cannot be read, the last token stays in use. After the deletion of the Secret it does not.
//
// Read agents.go.
package agents
