// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

// The fleet does not take over a Service of another type than its own (LoadBalancer, for example), and does not even
// ask whether it may: to change the type would lose the addresses that clients use.
func TestTakeOver_keepsTheTypeOfAService(t *testing.T) {
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "ns1"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	asked := errors.New("asked")
	for of, want := range map[corev1.ServiceType]string{corev1.ServiceTypeClusterIP: "is of type LoadBalancer", corev1.ServiceTypeLoadBalancer: "asked"} {
		wanted := coreac.Service("ns1", "dns").WithSpec(coreac.ServiceSpec().WithType(of))
		err := (&children{}).takeOver(t.Context(), foreign, childKey{render.Services, "dns", "ns1"}, wanted, func() error { return asked })
		if waits := (*takingOver)(nil); !errors.As(err, &waits) || waits.service != foreign || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", of, err)
		}
	}
}
