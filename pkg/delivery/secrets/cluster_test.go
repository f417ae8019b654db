// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"kubi.zone/kubizone/test/must"
)

type secretsRig struct {
	*testing.T
	cluster        *fake.Clientset
	clock          *clocktesting.FakeClock
	secrets        *Cluster
	reads, watches atomic.Int64
	// events is the last watch.
	events *watch.FakeWatcher
	began  chan struct{}
	refuse bool
	// forbids also refuses reads.
	forbids atomic.Bool
}

func newSecretsRig(t *testing.T, secrets ...runtime.Object) *secretsRig {
	r := &secretsRig{T: t, cluster: fake.NewClientset(secrets...), clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), events: watch.NewFake(), began: make(chan struct{}, 10)}
	r.cluster.PrependReactor("get", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
		r.reads.Add(1)
		if r.forbids.Load() {
			return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "", errors.New("no right to get"))
		}
		return false, nil, nil
	})
	r.cluster.PrependWatchReactor("secrets", func(action ktesting.Action) (bool, watch.Interface, error) {
		r.watches.Add(1)
		defer func() { r.began <- struct{}{} }()
		if r.refuse {
			return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "", errors.New("no right to watch"))
		}
		if of := action.(ktesting.WatchAction).GetWatchRestrictions().Fields.String(); of != "metadata.name=key" {
			t.Errorf("it watches %q", of)
		}
		return true, r.events, nil
	})
	r.secrets = newCluster(r.cluster.CoreV1(), r.clock)
	return r
}

func (r *secretsRig) getSecret() string {
	r.Helper()
	data, err := r.secrets.Get(r.Context(), "dns", "key")
	if errors.Is(err, ErrNotFound) {
		return "none"
	}
	if err != nil {
		r.Fatal(err)
	}
	return string(data["secret"])
}

// waitForSecret waits until Get returns the wanted secret without a read.
func (r *secretsRig) waitForSecret(want string) {
	r.Helper()
	if err := wait.PollUntilContextTimeout(r.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		before := r.reads.Load()
		return r.getSecret() == want && r.reads.Load() == before, nil
	}); err != nil {
		r.Fatalf("%v; it is %q", err, r.getSecret())
	}
}

func keySecret(value, version string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "key", ResourceVersion: version}, Data: map[string][]byte{"secret": []byte(value)}}
}

// A watched Secret is read from the API only after an event of the watch, however often Get is called.
func TestClusterSecrets_readWhatHasChanged(t *testing.T) {
	r := newSecretsRig(t, keySecret("one", "1"))
	r.getSecret()
	<-r.began
	r.waitForSecret("one")
	reads := r.reads.Load()
	r.events.Add(keySecret("one", "1")) // a watch begins with the current Secret
	r.clock.Step(time.Hour)
	for range 100 {
		if got := r.getSecret(); got != "one" {
			t.Fatalf("it is %q", got)
		}
	}
	if r.reads.Load() != reads {
		t.Errorf("%d reads of a Secret that did not change", r.reads.Load()-reads)
	}
	tracker := r.cluster.Tracker()
	for _, step := range []struct {
		value  string
		report func(runtime.Object)
	}{{"two", r.events.Modify}, {"none", r.events.Delete}, {"three", r.events.Add}} {
		err := tracker.Delete(corev1.SchemeGroupVersion.WithResource("secrets"), "dns", "key")
		secret := keySecret(step.value, step.value)
		if step.value != "none" {
			err = tracker.Add(secret)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		step.report(secret)
		r.waitForSecret(step.value)
	}
	if r.watches.Load() != 1 {
		t.Errorf("%d watches", r.watches.Load())
	}
}

// A Secret changes while there is no watch. The read at the start of the next watch finds the change.
func TestClusterSecrets_readAfterAWatchEnded(t *testing.T) {
	r := newSecretsRig(t, keySecret("one", "1"))
	r.getSecret()
	<-r.began
	r.waitForSecret("one")
	must.Succeed(t, r.cluster.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), keySecret("two", "2"), "dns"))
	former := r.events
	r.events = watch.NewFake()
	former.Stop()
	for !r.clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	r.clock.Step(watchAgain)
	<-r.began
	r.waitForSecret("two")
}

// If the client is not allowed to watch a Secret, the Secret is read at most once in five seconds for all callers
// together.
func TestClusterSecrets_unwatchedAreReadAgain(t *testing.T) {
	r := newSecretsRig(t, keySecret("one", "1"))
	r.refuse = true
	r.getSecret()
	<-r.began
	for range 10 {
		r.getSecret()
	}
	if r.reads.Load() != 1 {
		t.Errorf("%d reads at once", r.reads.Load())
	}
	r.clock.Step(unwatchedAge)
	r.getSecret()
	if r.reads.Load() != 2 {
		t.Errorf("%d reads, five seconds later", r.reads.Load())
	}
}

// The watch of a Secret ends when no class has used the Secret for a while.
func TestClusterSecrets_forgetWhatIsNotAskedFor(t *testing.T) {
	r := newSecretsRig(t, keySecret("one", "1"))
	r.getSecret()
	<-r.began
	one := r.secrets.secrets[struct{ Namespace, Name string }{"dns", "key"}]
	r.waitForSecret("one")
	r.clock.Step(unusedAge)
	r.refuse = true
	if _, err := r.secrets.Get(t.Context(), "dns", "other"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if len(r.secrets.secrets) != 1 || one == nil {
		t.Errorf("known: %v", r.secrets.secrets)
	}
}

// A forbidden Secret is read at most once per unwatchedAge, for all zones together.
func TestClusterSecrets_forbiddenAreReadAgain(t *testing.T) {
	for title, refused := range map[string]bool{"watched": false, "no right to watch": true} {
		t.Run(title, func(t *testing.T) {
			r := newSecretsRig(t, keySecret("one", "1"))
			r.refuse = refused
			r.forbids.Store(true)
			ask := func() error {
				_, err := r.secrets.Get(t.Context(), "dns", "key")
				return err
			}
			_ = ask()
			<-r.began
			if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
				before := r.reads.Load()
				if err := ask(); !apierrors.IsForbidden(err) {
					return false, err
				}
				return r.reads.Load() == before, nil
			}); err != nil {
				t.Fatalf("it is read for each question: %v", err)
			}
			r.forbids.Store(false)
			r.clock.Step(unwatchedAge)
			if err := ask(); err != nil {
				t.Error(err)
			}
		})
	}
}
