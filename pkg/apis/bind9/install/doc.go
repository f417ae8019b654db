// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install registers the API group bind9.kubi.zone in the API server's runtime.Scheme, with defaults of fields,
// and with field selectors of Bind9Instances.
//
// Guarantees: (1) Only this package sets defaults of the group.
//
// Read install.go.
//
// +k8s:defaulter-gen=TypeMeta
// +k8s:defaulter-gen-input=kubi.zone/kubizone/api/bind9/v1alpha1
package install
