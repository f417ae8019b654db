// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// kube-apiserver before 1.36 has no MutatingAdmissionPolicies: informers sync with an empty list. They pick up
// policies after an upgrade, and keep them while an older server answers.
func TestPolicies_ofAKubeAPIServerWithoutThem(t *testing.T) {
	t.Parallel() // mostly waits
	var has atomic.Bool
	var refused atomic.Int32
	kube := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watches := r.URL.Query().Get("watch") != ""
		if !has.Load() {
			refused.Add(1)
			http.NotFound(w, r)
			return
		}
		if watches && r.URL.Query().Get("sendInitialEvents") != "" {
			http.Error(w, "lists only", http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if watches {
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
			for has.Load() && r.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			return
		}
		kind := "MutatingAdmissionPolicy"
		if strings.HasSuffix(r.URL.Path, "bindings") {
			kind += "Binding"
		}
		_, _ = w.Write([]byte(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "` + kind + `List", "metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "one"}}]}`))
	}))
	defer kube.Close()
	client := must.Get(kubernetes.NewForConfig(&rest.Config{Host: kube.URL}))(t)
	factory := informers.NewSharedInformerFactory(client, 0)
	informOfPolicies(factory, 10*time.Millisecond)
	of := factory.Admissionregistration().V1()
	policies, bindings := of.MutatingAdmissionPolicies().Lister(), of.MutatingAdmissionPolicyBindings().Lister()
	ctx := rig.Within(t, time.Minute)
	factory.StartWithContext(ctx)
	rig.Until(ctx, t, "the informers have everything", func() error {
		if !of.MutatingAdmissionPolicies().Informer().HasSynced() || !of.MutatingAdmissionPolicyBindings().Informer().HasSynced() {
			return errors.New("they wait")
		}
		return nil
	})
	known := func() (n int) {
		some, _ := policies.List(labels.Everything())
		more, _ := bindings.List(labels.Everything())
		return len(some) + len(more)
	}
	if n := known(); n != 0 {
		t.Errorf("%d policies and bindings of a kube-apiserver that has none", n)
	}
	has.Store(true)
	rig.Until(ctx, t, "the policies are known", func() error {
		if known() != 2 {
			return errors.New("they are not")
		}
		return nil
	})
	before := refused.Load()
	has.Store(false)
	rig.Until(ctx, t, "an older one is asked for each", func() error {
		if refused.Load() < before+4 { // each a watch, and a list
			return errors.New("not yet")
		}
		return nil
	})
	if n := known(); n != 2 {
		t.Errorf("%d of 2 are known after an older kube-apiserver answered", n)
	}
}
