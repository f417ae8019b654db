// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane runs a kube-apiserver with Kubizone behind it, each with an etcd, and Kubizone's controller, for
// tests of other Go modules such as cmd/kubizone-gardener. With the argument kube it runs the kube-apiserver alone.
//
// Guarantees:
//
//  1. When ready, it prints the path of the administrator's kubeconfig.
//  2. Each line of input is a command, answered with "done" or the error. "stop" ends Kubizone's server, "start"
//     restarts it on the same data. "secondary ZONE" starts a hidden primary and a BIND that transfers the zone; the
//     BIND's address follows "done".
//  3. The end of input ends all processes and removes the files.
package main
