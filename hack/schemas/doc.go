// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command schemas writes JSON schemas of the kinds that users write, and of those that the client prints, for editors
// and pipelines without a server.
//
// Guarantees: (1) Each kind of both groups with object metadata has a file, KIND-GROUP-VERSION.json in lower case,
// the name that kubeconform requests. (2) The content equals the API server's OpenAPI, from the same definitions. (3)
// Unknown fields are refused. (4) The same tree gives the same octets.
//
// Read main.go, then results.go.
package main
