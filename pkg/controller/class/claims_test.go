// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"fmt"
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
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// claiming says that "key" means what the class's Secret says.
type claiming struct {
	*deliverytest.Memory
	meaning string
}

func (c *claiming) Abilities() delivery.Abilities {
	return delivery.Abilities{Claims: map[string]string{"key": c.meaning}}
}

// secretsOf are by name.
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

// Of classes whose keys have one name and differ, those that were made later say so, with the class that has it and the
// next step, and the first is served. Which has the key changes with Secrets, pauses and classes that go.
func TestController_oneKeyOfAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		secrets := &secretsOf{data: map[string]string{"first": "x", "second": "y", "third": "y"}}
		ctx, end := runController(t, client, Config{
			Views: zoneview.NewSet(zoneview.Config{}), Secrets: secrets, HealthInterval: time.Second,
			Providers: map[string]NewProvider{"transfer": func(of *v1alpha1.DNSClass, secret GetSecret) (delivery.Provider, string, error) {
				data, err := secret("dns", of.Name)
				return &claiming{&deliverytest.Memory{Server: deliverytest.NewServer()}, string(data[""])}, "here", err
			}},
		})
		classes, begun := client.KubizoneV1alpha1().DNSClasses(), time.Now().Add(-time.Hour)
		add := func(name string, age time.Duration) {
			t.Helper()
			of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1, ResourceVersion: "1", CreationTimestamp: metav1.NewTime(begun.Add(-age))}}
			of.Spec.Transfer = &v1alpha1.TransferProvider{}
			must.Succeed(t, client.Tracker().Add(of))
		}
		pause := func(name string, paused bool, generation int) {
			t.Helper()
			patch := fmt.Sprintf(`{"metadata":{"generation":%d},"spec":{"paused":%t}}`, generation, paused)
			must.Get(classes.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
		}
		// lost is which class has the name, by class.
		is := func(when string, lost map[string]string) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			all := must.Get(classes.List(ctx, metav1.ListOptions{}))(t)
			for _, of := range all.Items {
				ready := meta.FindStatusCondition(of.Status.Conditions, v1alpha1.ConditionReady)
				switch other := lost[of.Name]; {
				case ready == nil:
					t.Errorf("%s: %s says nothing", when, of.Name)
				case other == "" && ready.Status != metav1.ConditionTrue:
					t.Errorf("%s: %s has its name and says %s: %s", when, of.Name, ready.Reason, ready.Message)
				case other != "" && (ready.Reason != string(delivery.ReasonInvalidConfiguration) || !strings.Contains(ready.Message, "DNSClass "+other+",") || !strings.Contains(ready.Message, "Name its key otherwise")):
					t.Errorf("%s: %s lost its name to %s and says %s: %s", when, of.Name, other, ready.Reason, ready.Message)
				}
			}
		}
		add("third", 1*time.Second)
		add("second", 2*time.Second)
		is("the same key twice", nil)
		add("first", 3*time.Second)
		is("an earlier class has another one", map[string]string{"second": "first", "third": "first"})
		pause("first", true, 2)
		is("it is paused", nil)
		pause("first", false, 3)
		is("it is not any more", map[string]string{"second": "first", "third": "first"})
		secrets.setSecret("second", "x")
		is("one is mended", map[string]string{"third": "first"})
		must.Succeed(t, classes.Delete(ctx, "first", metav1.DeleteOptions{}))
		is("the first is gone", map[string]string{"third": "second"})
		end()
	})
}
