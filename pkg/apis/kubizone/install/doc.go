// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install adds the API groups kubi.zone, bind9.kubi.zone and acme.kubi.zone to a scheme.
//
// Guarantees: (1) the internal version has the types of v1alpha1, so no conversion runs; (2) New shares no scheme or
// codecs; (3) the defaults of kubi.zone are set only here, but a Zone's classes may set a ttl.
//
// Out of scope: storage, validation and the server.
//
// Read install.go.
//
// +k8s:defaulter-gen=TypeMeta
// +k8s:defaulter-gen-input=kubi.zone/kubizone/api/kubizone/v1alpha1
package install
