// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package permissions asks kube-apiserver whether Kubizone's API server has the RBAC rights that it needs there.
//
// Guarantees:
//  1. A server that starts without a required rule is not ready. It logs each missing rule, with the consequence.
//  2. A rule revoked later is in the Installation's status within a minute, but the server stays ready.
package permissions
