// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

// quotas lets the plugin ResourceQuota count our objects (count/records.kubi.zone). kube-apiserver judges what it
// stores itself; a write of ours passes its own plugin by. Objects are counted by kube-controller-manager, so nothing
// has to be evaluated here.
type quotas struct{}

var _ admission.PluginInitializer = quotas{}

func (quotas) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(generic.NewConfiguration(nil, nil))
	}
}
