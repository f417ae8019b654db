// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	ours "kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

func newFleet(t *testing.T, client *ours.Clientset, at clock.Clock, namespace string) *Fleet {
	t.Helper()
	return must.Get(New(Config{
		Client: client, Informers: externalversions.NewSharedInformerFactory(client, 0), Cluster: fake.NewClientset(),
		Namespaces: []string{namespace},
		Platform:   render.Platform{Installation: "a.b"}, Events: events.NewFakeRecorder(10), Clock: at,
		Answers:   func(context.Context, netip.AddrPort, name.Name, render.Key) bool { return false },
		Primaries: func(context.Context) ([]netip.AddrPort, error) { return nil, nil },
	}))(t)
}

// S11.11: a tenant may create any number of pods with the labels of its server. Their answers, however late, take a
// small part of one worker's time.
func TestAskPods_boundsTheTimeOfAServer_S11_11(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	f := newFleet(t, ours.NewSimpleClientset(), clock, "team")
	var pods []*corev1.Pod
	for i := range 9 {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint(i)}})
	}
	wrong := errors.New("wrong")
	for name, test := range map[string]struct {
		pods   int
		takes  time.Duration // of each pod
		result error
	}{
		"prompt":           {2, slowAnswer / 4, nil},
		"late and right":   {2, askTimeout * 49 / 100, nil},
		"late and wrong":   {1, askTimeout * 98 / 100, wrong},
		"never":            {2, askTimeout * 2, context.DeadlineExceeded},
		"a little late":    {1, slowAnswer, nil},
		"more than it has": {9, time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := &render.Server{Namespace: "team", Name: name, Replicas: 1}
			var busy, most time.Duration
			var results []error
			began, asked := clock.Now(), 0
			ask := func(ctx context.Context, _ *corev1.Pod) error {
				asked++
				until, ok := ctx.Deadline()
				if left := time.Until(until); !ok || left > askTimeout {
					t.Fatalf("the look may take %s", left)
				}
				takes := min(test.takes, askTimeout)
				clock.Step(takes)
				busy, most = busy+takes, most+takes
				return test.result
			}
			for clock.Since(began) < time.Hour {
				results = append(results, f.slow.askPods(t.Context(), server, "a", pods[:test.pods], ask))
				clock.Step(time.Second) // each change of a pod causes a reconcile
			}
			if slow := test.takes >= slowAnswer; slow && busy > time.Hour/15 {
				t.Errorf("%d questions took %s of an hour", asked, busy)
			}
			if test.pods > 2 {
				if asked > 0 || results[0] == nil {
					t.Errorf("%d questions, %v", asked, results[0])
				}
				return
			}
			if asked < 2*test.pods {
				t.Errorf("%d questions: a server that answers late is asked again", asked)
			}
			for _, result := range results {
				if !errors.Is(result, test.result) {
					t.Fatalf("%v, want %v", result, test.result)
				}
			}
			// The last answer is valid for the same question only.
			if test.takes >= slowAnswer {
				clock.Step(time.Hour)
				_ = f.slow.askPods(t.Context(), server, "a", pods[:test.pods], ask)
				if err := f.slow.askPods(t.Context(), server, "b", pods[:test.pods], ask); !errors.Is(err, errNotAsked) {
					t.Errorf("another question: %v", err)
				}
			}
		})
	}
}

// S11.32: two unanswered health requests in a row degrade a server until its agent answers. Requests skipped for a
// slow agent do not count, and unready pods get none.
func TestAskInstance_noticesASilentAgent_S11_32(t *testing.T) {
	const namespace, name = "team", "ns1"
	instance := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name,
		Annotations: map[string]string{render.AnnotationOwner: render.KindInstance + "/" + name},
		Labels:      map[string]string{render.LabelManager: render.Manager, render.LabelInstallation: "a.b"}}
	pod := &corev1.Pod{ObjectMeta: meta}
	secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"token": []byte("a-token-of-sixteen"),
		"ca.crt": {1}, "tls.crt": {1}, "tls.key": {1}}}
	secret.Name = render.AgentSecretName(name)
	f := newFleet(t, ours.NewSimpleClientset(), clock.RealClock{}, namespace)
	var answer error
	asked := 0
	f.Ask = func(context.Context, *corev1.Pod, *render.Server) (string, error) { asked++; return "", answer }
	for _, object := range []struct {
		of  schema.GroupVersionResource
		put any
	}{{render.Secrets, secret}, {pods, pod}} {
		must.Succeed(t, informerOf(f.children.factories[namespace], object.of).Informer().GetStore().Add(object.put))
	}
	at, refused := cache.MetaObjectToName(instance), errors.New("connection refused")
	queue := f.loops["instance"].queue
	for i, step := range []struct {
		ready  bool
		answer error
		// silent: silence counts after the question. reported: a reconcile follows.
		silent, reported bool
	}{
		{true, nil, false, false},
		{true, refused, false, false},
		{true, errNotAsked, false, false},
		{true, refused, true, true},
		{true, errors.New("timeout"), true, false},
		{true, errNotAsked, true, false},
		{true, nil, false, true},
		{true, refused, false, false},
		{true, nil, false, false},
		{true, refused, false, false},
		{true, refused, true, true},
		{false, refused, false, true},
	} {
		next := pod.DeepCopy()
		if step.ready {
			next.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		must.Succeed(t, informerOf(f.children.factories[namespace], pods).Informer().GetStore().Update(next))
		before := asked
		answer = step.answer
		f.askInstance(t.Context(), instance)
		if (asked > before) != step.ready {
			t.Errorf("step %d: asked %t", i, asked > before)
		}
		if got := f.silent.find(at); (got != nil) != step.silent || got != nil && !errors.Is(got, refused) {
			t.Errorf("step %d: %v", i, got)
		}
		if reported := queue.Len() > 0; reported != step.reported {
			t.Errorf("step %d: told %t", i, reported)
		}
		for queue.Len() > 0 {
			one, _ := queue.Get()
			queue.Done(one)
		}
	}
}
