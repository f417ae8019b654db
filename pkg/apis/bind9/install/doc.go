// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install adds the API group bind9.kubi.zone to a scheme, with defaults and field selectors.
//
// Guarantees: (1) the defaults of the group are set only here.
//
// Out of scope: storage, validation, and the scheme of all groups (kubizone/install).
//
// Read install.go.
//
// +k8s:defaulter-gen=TypeMeta
// +k8s:defaulter-gen-input=kubi.zone/kubizone/api/bind9/v1alpha1
package install
