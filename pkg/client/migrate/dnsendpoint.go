// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/objectname"
	"kubi.zone/kubizone/pkg/client/externaldns"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/dns/name"
)

const externalDNSGroup = "externaldns.k8s.io"

// convertExternalDNS converts each DNSEndpoint by itself. Two of them may have the same name: the server decides (M3).
func (c *conversion) convertExternalDNS(all []*unstructured.Unstructured) {
	for _, o := range all {
		if kind := o.GetKind(); kind != "DNSEndpoint" {
			c.omit(o, kind+" is what external-dns notes for itself", "import its sources, or write the Records")
			continue
		}
		var spec struct {
			Endpoints []contract.Endpoint `json:"endpoints"`
		}
		if err := readSpec(o.Object["spec"], &spec); err != nil {
			c.refuse(o, err.Error(), fixFields)
			continue
		}
		c.convertEndpoints(o, spec.Endpoints)
	}
}

// convertEndpoints joins the endpoints of an object with the same name and type into one Record, as external-dns does.
func (c *conversion) convertEndpoints(o *unstructured.Unstructured, endpoints []contract.Endpoint) {
	if len(endpoints) == 0 {
		c.omit(o, "spec.endpoints: there are none", "")
	}
	made, order := map[contract.Key]*v1alpha1.RecordSpec{}, []contract.Key{}
	for i := range endpoints {
		at := fmt.Sprintf("spec.endpoints[%d].", i)
		r, err := externaldns.Mapping{}.MakeRecord(&endpoints[i])
		if err != nil {
			c.refuse(o, at+err.Error(), fixFields)
			continue
		}
		key, _ := endpoints[i].Key() // valid after MakeRecord
		switch before := made[key]; {
		case before == nil:
			made[key], order = &r.Spec, append(order, key)
		// An RRset has a single TTL, and no rule says which.
		case !ptr.Equal(before.TTL, r.Spec.TTL):
			c.refuse(o, fmt.Sprintf("%srecordTTL: another endpoint has %s with another TTL", at, key), "write one TTL")
		default: // joined as by external-dns
			before.Values = append(before.Values, r.Spec.Values...)
		}
	}
	for _, key := range order {
		spec := made[key]
		// Equal targets of two endpoints are a single value.
		slices.Sort(spec.Values)
		values := slices.Compact(spec.Values)
		spec.Values = nil
		setData(spec, values)
		owner, _ := key.Name.Rel(name.Root)
		c.addReplacement(o, "Record", objectname.OfRecord(owner, key.Type, o.GetName())[0], spec)
		o.SetOwnerReferences(nil) // report owners once
	}
}
