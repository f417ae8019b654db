// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install makes the API group bind9.kubi.zone known to a scheme, with its defaults and field selectors.
//
// It promises: (1) the defaults are set here and nowhere else.
//
// It does not know storage, validation or the server; package install of kubizone makes the scheme of a server of both
// groups.
//
// Read install.go.
//
// +k8s:defaulter-gen=TypeMeta
// +k8s:defaulter-gen-input=kubi.zone/kubizone/api/bind9/v1alpha1
package install
