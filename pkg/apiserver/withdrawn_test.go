// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

type listedDeliveries struct {
	rest.Lister
	v1alpha1.DeliveryList
}

func (l *listedDeliveries) List(context.Context, *internalversion.ListOptions) (runtime.Object, error) {
	return &l.DeliveryList, nil
}

type unreadZones struct{ zoneReader }

func (unreadZones) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return nil, errors.New("the caches are not filled yet")
}

// A change that narrows a class has a Warning of the zones withdrawn. Of a class with more zones than are read, the
// answer is not silent, although none of the first is withdrawn (S2.16).
func TestDescribeWithdrawn_whenNotAllIsRead_S2_16(t *testing.T) {
	after := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"kept"}}}}
	for what, test := range map[string]struct {
		kept, lost int
		want       string
	}{
		"all are read, and stay":      {maxDelivered, 0, ""},
		"all are read, and two leave": {3, 2, "2 zones (z3., z4.)"},
		"not all are read":            {maxDelivered, 1, "could not all be read"},
	} {
		deliveries := &listedDeliveries{}
		for i := range test.kept + test.lost {
			one := v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: "kept"}}
			if one.Spec.Zone.FQDN = fmt.Sprintf("z%d.", i); i >= test.kept {
				one.Namespace = "lost"
			}
			deliveries.Items = append(deliveries.Items, one)
		}
		d := &deliveredZones{deliveries: deliveries, zones: unreadZones{}, namespaces: &namespaces{}}
		if got := d.describeWithdrawn(&v1alpha1.DNSClass{}, after); !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", what, got, test.want)
		}
	}
}
