// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console is the sub-command that shows zones, names and deliveries as pages on the loopback interface.
//
// Guarantees:
//
//	C1. Requests have the rights of the kubeconfig. Every request to the API reads, reviews or is a dry run.
//	C2. Pages need a cookie, which a browser gets for a token, valid once, for a minute. Other requests get 401
//	    without a body.
//	C3. Requests with another Host, from another origin, and forms without the form token get 403 without a body.
//	C4. No text of a tenant becomes markup, script, style or the address of another server. Control and format
//	    characters are escaped as in package terminal.
//	C5. A missing right is named by verb, resource and namespace, whether or not an object exists.
//	C6. Pages are complete without scripts. An open page follows watches, or names the right that it lacks.
//
// Read first: console.go, server.go, door.go.
package console
