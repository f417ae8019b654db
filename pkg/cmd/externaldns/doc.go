// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns is the sub-command external-dns: a webhook provider of external-dns that writes endpoints as
// Records into the namespaces of their source objects.
//
// Guarantees:
//
//	E1. Records are written only where a RoleBinding allows writes. Only Records with our label and field manager are
//	    changed or deleted, each in its own namespace, regardless of the labels of an endpoint.
//	E2. A refused endpoint is left out, with an Event on the source object with the server's message. It neither
//	    blocks others nor fails the cycle, nor does a namespace with slow answers, very many endpoints, or no budget.
//	E3. Each request is answered within ten seconds, by 200, 204 or a 5xx: external-dns exits otherwise. Longer work
//	    continues, and gives 503 meanwhile.
//	E4. A cycle without changes writes nothing.
//	E5. The provider listens only on loopback, because the protocol has neither passwords nor TLS.
//
// Out of scope: how an endpoint becomes a Record, nor which of two objects gets a name: pkg/externaldns
// decides.
//
// Read options.go, then server.go and provider.go.
package externaldns
