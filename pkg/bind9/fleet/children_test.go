// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/must"
)

// The fleet remembers which objects it has applied. It forgets an object when the object is deleted, because servers
// that come and go would otherwise fill its memory.
func TestChildren_forgetWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		labels := map[string]string{render.LabelManager: render.Manager, render.LabelInstallation: "a"}
		stays := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "stays", Labels: labels}}
		goes := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "goes", Labels: labels}}
		cluster := fake.NewClientset(stays, goes)
		c := newChildren(cluster, []string{"team"}, "a")
		kept, gone := childKey{render.ConfigMaps, "team", "stays"}, childKey{render.Secrets, "team", "goes"}
		c.applied[kept], c.applied[gone] = appliedObject{observed: "1"}, appliedObject{observed: "1"}
		ctx, cancel := context.WithCancel(t.Context())
		factory := factoryFor(c.factories, "team")
		factory.StartWithContext(ctx)
		defer factory.Shutdown()
		defer cancel()
		synctest.Wait() // an informer in sync may not watch yet, and the fake does not replay the gap
		must.Succeed(t, cluster.CoreV1().Secrets("team").Delete(t.Context(), "goes", metav1.DeleteOptions{}))
		synctest.Wait()
		if _, knows := c.applied[gone]; knows || len(c.applied) != 1 {
			t.Errorf("known: %v", c.applied)
		}
	})
}

// After a takeover the fleet removes superseded ReplicaSets. If a removal fails, and a foreign Service appears at the
// same time, the failure must still be returned. Otherwise the finalizer would be removed while the ReplicaSet stays.
func TestDropSuperseded_returnsEachError(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case request.Method == http.MethodDelete:
			w.WriteHeader(http.StatusInternalServerError)
		case !asked:
			asked = true
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","reason":"NotFound","code":404}`)
		default:
			fmt.Fprint(w, `{"kind":"Service","apiVersion":"v1","metadata":{"name":"ns1","namespace":"team"}}`)
		}
	}))
	t.Cleanup(server.Close)
	c := newChildren(must.Get(kubernetes.NewForConfig(&rest.Config{Host: server.URL}))(t), []string{"team"}, "a")
	sets := factoryFor(c.superseded, "team").Apps().V1().ReplicaSets().Informer().GetIndexer()
	for _, name := range []string{"ns1-1", "ns1-2"} {
		labels := map[string]string{labelSuperseded: "ns1"}
		must.Succeed(t, sets.Add(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Labels: labels}}))
	}
	if err := c.dropSuperseded(t.Context(), "team", "ns1"); err == nil {
		t.Error("a failed removal is no error")
	}
}

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
