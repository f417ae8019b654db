// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// If the API answers 429 with a delay, the write returns at once with this delay, and client-go does not sleep and
// retry. Otherwise a worker would sleep for a namespace without budget (S9.2).
func TestWithoutWaiting_endsAStatusWriteAtOnce_S9_2(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
		status := apierrors.NewTooManyRequests("the budget is used up", 30).Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		_ = json.NewEncoder(w).Encode(status)
	}))
	t.Cleanup(server.Close)
	client := versioned.NewForConfigOrDie(WithoutWaiting(&rest.Config{Host: server.URL}))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := client.KubizoneV1alpha1().Records("team").Patch(ctx, "www", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{}, "status")
	if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !ok || seconds != 30 || calls.Load() != 1 {
		t.Errorf("after %d calls: %v; to wait %d s", calls.Load(), err, seconds)
	}
}

// If writes into one namespace get 429, because its budget is used up, the zone is tried again after the delay that the
// server gave. Meanwhile the worker processes zones of other namespaces (S9.2).
func TestNext_comesBackWhenTheServerSaid_S9_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		c := newController(t, client)
		defer c.queue.ShutDown()
		must.Succeed(t, c.index.Classes.GetStore().Add(&v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "main"},
			Spec: v1alpha1.DNSClassSpec{Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"poor", "rich"}}}}))
		for _, namespace := range []string{"poor", "rich"} {
			uid := types.UID(namespace)
			now := metav1.Now()
			zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "z", UID: uid, ResourceVersion: "1",
				DeletionTimestamp: &now, Finalizers: []string{v1alpha1.FinalizerDelivery}}}
			zone.Spec.DNSClassRefs = []v1alpha1.DNSClassReference{{Kind: v1alpha1.KindDNSClass, Name: "main"}}
			zone.Status.FQDN, zone.Status.Serial, zone.Status.SettledSerial = namespace+".example.", 7, 7
			must.Succeed(t, c.index.Zones.GetStore().Add(zone))
		}
		patches := map[string]int{}
		client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			patches[action.GetNamespace()+" "+action.GetResource().Resource]++
			if action.GetNamespace() == "poor" {
				return true, nil, apierrors.NewTooManyRequests("the budget is used up", 30)
			}
			return true, nil, nil
		})
		began := time.Now()
		c.queue.Add(task{zoneTask, "poor", "z"})
		c.queue.Add(task{zoneTask, "rich", "z"})
		c.workNext(t.Context())
		c.workNext(t.Context())
		if time.Since(began) > 0 {
			t.Errorf("the worker waited %s", time.Since(began))
		}
		if patches["rich zones"] != 1 || patches["poor zones"] != 1 {
			t.Errorf("written: %v", patches)
		}
		c.workNext(t.Context()) // blocks until a task is due
		if waited := time.Since(began); waited < 30*time.Second || waited > 31*time.Second {
			t.Errorf("the zone was looked at again after %s", waited)
		}
	})
}

// If the API forbids a write of the controller, the controller lacks a right. It logs this, because that is where
// cluster admins look. Other refusals, such as a conflict, are normal and not logged.
func TestNext_logsARefusal(t *testing.T) {
	client := fake.NewClientset()
	c := newController(t, client)
	defer c.queue.ShutDown()
	now := metav1.Now()
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "z", UID: "z", ResourceVersion: "1",
		DeletionTimestamp: &now, Finalizers: []string{v1alpha1.FinalizerDelivery}}}
	zone.Status.FQDN, zone.Status.Serial, zone.Status.SettledSerial = "example.org.", 7, 7
	must.Succeed(t, c.index.Zones.GetStore().Add(zone))
	of := v1alpha1.Resource("zones")
	for _, answer := range []error{
		apierrors.NewForbidden(of, "z", fmt.Errorf("no right")), apierrors.NewConflict(of, "z", fmt.Errorf("changed")), apierrors.NewTooManyRequests("the budget is used up", 30),
	} {
		client.PrependReactor("patch", "zones", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
		c.queue.Add(task{zoneTask, "team", "z"})
		var log bytes.Buffer
		c.workNext(klog.NewContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&log, nil))))
		if logged := strings.Contains(log.String(), "no right"); logged != apierrors.IsForbidden(answer) || !logged && log.Len() > 0 {
			t.Errorf("%v: logged %q", answer, log.String())
		}
	}
}
