// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
)

// Providers are constructors (class.NewProvider) by block of DNSClass. Unless class.NameServersOf returns the servers
// of the class, Verify must work for a whole plan, or return ErrCannotList.
var Providers = map[string]New{
	"rfc2136": newRFC2136,
	"webhook": newWebhook,
}

type New = func(of *v1alpha1.DNSClass, secret secrets.GetFunc) (provider delivery.Provider, target string, err error)
