// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

// quotas configures the ResourceQuota plugin for count/records.kubi.zone. kube-apiserver's plugin does not see our
// writes.
type quotas struct{}

var _ admission.PluginInitializer = quotas{}

func (quotas) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(generic.NewConfiguration(nil, nil))
	}
}
