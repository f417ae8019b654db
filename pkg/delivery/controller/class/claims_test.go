// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// claiming claims the name "key" for the value in the Secret of the class.
type claiming struct {
	*deliverytest.Memory
	meaning string
}

func (c *claiming) Abilities() delivery.Abilities {
	return delivery.Abilities{Claims: map[string]string{"key": c.meaning}}
}

type secretsOf struct {
	mu   sync.Mutex
	data map[string]string
}

func (s *secretsOf) Get(_ context.Context, _, name string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string][]byte{"": []byte(s.data[name])}, nil
}

func (s *secretsOf) setSecret(name, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[name] = data
}

// Of classes with different keys of the same name, the first user of the name is served. The others, even older ones,
// report the class that has the name and the next step (attack 105). The user keeps the name while paused or without a
// Secret, and after a restart, until the key or the class goes.
func TestController_oneKeyOfAName_S11_18(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		stored := &secretsOf{data: map[string]string{"first": "x", "second": "y", "third": "y"}}
		newProvider := func(of *v1alpha1.DNSClass, secret secrets.GetFunc) (delivery.Provider, string, error) {
			data, err := secret("dns", of.Name)
			if string(data[""]) == "" {
				err = delivery.Errorf(delivery.ReasonSecretNotFound, "there is none")
			}
			return &claiming{&deliverytest.Memory{Server: deliverytest.NewServer()}, string(data[""])}, "here", err
		}
		start := func() (context.Context, func()) {
			return runController(t, client, Config{Views: zoneview.NewSet(zoneview.Config{}), Secrets: stored, HealthInterval: time.Second,
				Providers: map[string]NewProvider{"transfer": newProvider}})
		}
		ctx, end := start()
		classes, begun, generation := client.KubizoneV1alpha1().DNSClasses(), time.Now().Add(-time.Hour), 1
		add := func(name string, age time.Duration) {
			t.Helper()
			of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1, ResourceVersion: "1",
				CreationTimestamp: metav1.NewTime(begun.Add(-age))}}
			of.Spec.Transfer = &v1alpha1.TransferProvider{}
			must.Succeed(t, client.Tracker().Add(of))
		}
		pause := func(paused bool, names ...string) {
			t.Helper()
			generation++
			patch := fmt.Sprintf(`{"metadata":{"generation":%d},"spec":{"paused":%t}}`, generation, paused)
			for _, name := range names {
				must.Get(classes.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
			}
		}
		// is expects that the classes in lost report the class that uses their name, and that only users use theirs.
		is := func(when string, lost map[string]string, users ...string) {
			t.Helper()
			passTime(time.Minute)
			all := must.Get(classes.List(ctx, metav1.ListOptions{}))(t)
			for _, of := range all.Items {
				if got, want := len(of.Status.KeyNames) > 0, slices.Contains(users, of.Name); got != want {
					t.Errorf("%s: %s uses %q", when, of.Name, of.Status.KeyNames)
				}
				ready := meta.FindStatusCondition(of.Status.Conditions, v1alpha1.ConditionReady)
				switch other := lost[of.Name]; {
				case ready == nil:
					t.Errorf("%s: %s says nothing", when, of.Name)
				case stored.data[of.Name] == "" || of.Spec.Paused && other == "":
				case other == "" && ready.Status != metav1.ConditionTrue:
					t.Errorf("%s: %s has its name and says %s: %s", when, of.Name, ready.Reason, ready.Message)
				case other != "" && (ready.Reason != string(delivery.ReasonInvalidConfiguration) ||
					!strings.Contains(ready.Message, "DNSClass "+other+" uses") ||
					!strings.Contains(ready.Message, "Rename its key")):
					t.Errorf("%s: %s lost its name to %s and says %s: %s", when, of.Name, other, ready.Reason, ready.Message)
				}
			}
		}
		stored.setSecret("first", "")
		add("first", 3*time.Second)
		is("the Secret of the earliest class is away", nil)
		add("third", 1*time.Second)
		add("second", 2*time.Second)
		is("the same key twice", nil, "second", "third")
		stored.setSecret("first", "x")
		is("the Secret comes", map[string]string{"first": "second"}, "second", "third")
		pause(true, "second", "third")
		is("the users are paused", map[string]string{"first": "second"}, "second", "third")
		end()
		ctx, end = start()
		is("the controller starts again", map[string]string{"first": "second"}, "second", "third")
		pause(false, "second", "third")
		stored.setSecret("second", "")
		is("the Secret of a user is away", map[string]string{"first": "second"}, "second", "third")
		stored.setSecret("second", "y")
		end()
		ctx, end = start()
		is("all is as it was", map[string]string{"first": "second"}, "second", "third")
		must.Succeed(t, classes.Delete(ctx, "second", metav1.DeleteOptions{}))
		is("a user is gone", map[string]string{"first": "third"}, "third")
		stored.setSecret("third", "x")
		is("the other one has the key", nil, "first", "third")
		must.Succeed(t, classes.Delete(ctx, "third", metav1.DeleteOptions{}))
		stored.setSecret("first", "z")
		is("the last user has another key", nil, "first")
		end()
	})
}
