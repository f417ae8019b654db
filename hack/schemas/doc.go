// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command schemas writes JSON schemas of the kinds that users write, for editors and pipelines that have no server.
//
// It promises: (1) Each kind of both groups with metadata of an object has a file, KIND-GROUP-VERSION.json in lower
// case, as kubeconform asks for it. (2) What is in it is what the API server serves as OpenAPI, from the same
// definitions. (3) A field that the server does not know is refused. (4) The same tree gives the same octets.
//
// It knows no rule that OpenAPI cannot say, such as either rdata or values: kubizone lint does.
//
// Read main.go.
package main
