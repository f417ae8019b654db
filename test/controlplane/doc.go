// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane runs a kube-apiserver with Kubizone behind it, each with an etcd, and Kubizone's controller, for
// tests of Go modules that link none of them: cmd/kubizone-gardener.
//
// It promises:
//
//  1. When all of it is ready it prints the path of the administrator's kubeconfig.
//  2. It reads a command a line and answers each with a line, "done" or the error: "stop" ends its server, "start"
//     starts it again over the same data. "secondary ZONE" starts a hidden primary and a BIND that has the zone from
//     it, and "done" is followed by the address of the BIND.
//  3. The end of its input ends it, and removes what it made.
//
// It does not know what is tested with it.
//
// Read main.go.
package main
