// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package reaper_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	kubefake "k8s.io/client-go/kubernetes/fake"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/reaper"
)

// world is a cluster, the objects we serve, and a clock.
type world struct {
	t       *testing.T
	kube    *kubefake.Clientset
	objects *fake.Clientset
	clock   *clocktesting.FakeClock
	// live, unless nil, answers the live questions in the place of kube.
	live coreclient.NamespacesGetter

	mu      sync.Mutex
	cluster string
	last    time.Time
	turns   int
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}}
}

func record(namespace, name string) *v1alpha1.Record {
	return &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name)}}
}

func zone(namespace, name string) *v1alpha1.Zone {
	return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name)}}
}

// newWorld has namespaces kube-system and team-a, and the given objects.
func newWorld(t *testing.T, objects ...runtime.Object) *world {
	return &world{
		t: t, kube: kubefake.NewClientset(namespace("kube-system"), namespace("team-a")), objects: fake.NewSimpleClientset(objects...),
		clock: clocktesting.NewFakeClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)),
	}
}

// Namespaces, RememberCluster and TakeReapingTurn are the Store that all replicas share.
func (w *world) Namespaces(ctx context.Context) ([]string, error) {
	var out []string
	records, err := w.objects.KubizoneV1alpha1().Records("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, o := range records.Items {
		out = append(out, o.Namespace)
	}
	zones, err := w.objects.KubizoneV1alpha1().Zones("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, o := range zones.Items {
		out = append(out, o.Namespace)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (w *world) RememberCluster(_ context.Context, uid string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cluster == "" {
		w.cluster = uid
	}
	return w.cluster, nil
}

func (w *world) TakeReapingTurn(_ context.Context, pace time.Duration) (time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if wait := pace - w.clock.Since(w.last); w.turns > 0 && wait > 0 {
		return wait, nil
	}
	w.last = w.clock.Now()
	w.turns++
	return 0, nil
}

// names of what is left, as namespace/name.
func (w *world) left() []string {
	w.t.Helper()
	var out []string
	records, err := w.objects.KubizoneV1alpha1().Records("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range records.Items {
		out = append(out, o.Namespace+"/"+o.Name)
	}
	zones, err := w.objects.KubizoneV1alpha1().Zones("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range zones.Items {
		out = append(out, o.Namespace+"/"+o.Name)
	}
	delegations, err := w.objects.KubizoneV1alpha1().Delegations("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range delegations.Items {
		out = append(out, o.Namespace+"/"+o.Name)
	}
	clusters, err := w.objects.Bind9V1alpha1().Bind9Clusters("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range clusters.Items {
		out = append(out, o.Namespace+"/"+o.Name)
	}
	instances, err := w.objects.Bind9V1alpha1().Bind9Instances("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range instances.Items {
		out = append(out, o.Namespace+"/"+o.Name)
	}
	slices.Sort(out)
	return out
}

func (w *world) mustHave(when string, want ...string) {
	w.t.Helper()
	if got := w.left(); !slices.Equal(got, want) {
		w.t.Errorf("%s: %q is left, want %q", when, got, want)
	}
}

// gets counts the live questions about a namespace.
func (w *world) gets(name string) (n int) {
	for _, a := range w.kube.Actions() {
		if g, ok := a.(clienttesting.GetAction); ok && a.GetVerb() == "get" && g.GetName() == name {
			n++
		}
	}
	return n
}

// run starts a replica; pass lets the given time go by in steps of the reaper's own, and waits for its looks.
type replica struct{ *world }

func (w *world) run() *replica {
	w.t.Helper()
	factory := informers.NewSharedInformerFactory(w.kube, 0)
	live := w.live
	if live == nil {
		live = w.kube.CoreV1()
	}
	r, err := reaper.New(reaper.Config{Informer: factory.Core().V1().Namespaces(), Live: live, Objects: w.objects, Store: w, Clock: w.clock})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	factory.Core().V1().Namespaces().Informer()
	factory.Start(ctx.Done())
	go func() {
		defer close(done)
		if err := r.Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	w.t.Cleanup(func() { cancel(); <-done; factory.Shutdown() })
	w.looked(1)
	return &replica{w}
}

// looked waits until n replicas wait for their next look.
func (w *world) looked(n int) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if w.clock.Waiters() >= n {
			return
		}
	}
	w.t.Fatalf("no look within a minute: %d of %d wait", w.clock.Waiters(), n)
}

// pass lets time go by, a look each two minutes.
func (r *replica) pass(d time.Duration) {
	r.t.Helper()
	for ; d > 0; d -= 2 * time.Minute {
		r.clock.Step(min(d, 2*time.Minute))
		if d >= 2*time.Minute {
			r.looked(1)
		}
	}
}

func (w *world) onGet(name string, answer func() (*corev1.Namespace, error)) {
	w.kube.PrependReactor("get", "namespaces", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.(clienttesting.GetAction).GetName() != name {
			return false, nil, nil
		}
		n, err := answer()
		if n == nil && err == nil {
			return false, nil, nil
		}
		return true, n, err
	})
}

func TestReap_afterTwo404sTenMinutesApart_S8_3(t *testing.T) {
	w := newWorld(t, record("team-a", "a"), record("team-b", "b"), zone("team-b", "z"))
	r := w.run()
	w.mustHave("at the start", "team-a/a", "team-b/b", "team-b/z")
	r.pass(8 * time.Minute)
	w.mustHave("after eight minutes", "team-a/a", "team-b/b", "team-b/z")
	r.pass(2 * time.Minute)
	w.mustHave("after ten minutes", "team-a/a")
	if n := w.gets("team-a"); n != 0 {
		t.Errorf("%d live questions about a namespace that is in the list", n)
	}
	for _, a := range w.objects.Actions() {
		d, ok := a.(clienttesting.DeleteActionImpl)
		if !ok {
			continue
		}
		if p := d.DeleteOptions.Preconditions; p == nil || p.UID == nil || string(*p.UID) != "uid-of-"+d.Name {
			t.Errorf("%s %s is deleted whatever its UID", d.GetResource().Resource, d.Name)
		}
	}
}

func TestReap_anyOtherAnswerStartsOver_S8_3(t *testing.T) {
	for name, answer := range map[string]func() (*corev1.Namespace, error){
		"it is there":     func() (*corev1.Namespace, error) { return namespace("team-b"), nil },
		"the server errs": func() (*corev1.Namespace, error) { return nil, apierrors.NewInternalError(errors.New("etcd")) },
		"a timeout":       func() (*corev1.Namespace, error) { return nil, context.DeadlineExceeded },
		"we may not ask": func() (*corev1.Namespace, error) {
			return nil, apierrors.NewForbidden(corev1.Resource("namespaces"), "team-b", nil)
		},
		"a 404 of another thing": func() (*corev1.Namespace, error) {
			return nil, apierrors.NewNotFound(corev1.Resource("pods"), "team-b")
		},
		"a 404 of another name": func() (*corev1.Namespace, error) {
			return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, record("team-b", "b"))
			var mu sync.Mutex
			otherwise := false
			w.onGet("team-b", func() (*corev1.Namespace, error) {
				mu.Lock()
				defer mu.Unlock()
				if otherwise {
					return answer()
				}
				return nil, nil
			})
			set := func(v bool) { mu.Lock(); otherwise = v; mu.Unlock() }
			r := w.run()
			r.pass(6 * time.Minute)
			set(true)
			r.pass(2 * time.Minute)
			set(false)
			r.pass(10 * time.Minute)
			w.mustHave("ten minutes after the other answer, eight after the next 404", "team-b/b")
			r.pass(2 * time.Minute)
			w.mustHave("ten minutes after the first 404 since")
		})
	}
}

// A server in the place of a kube-apiserver that knows no path is no cluster without namespaces.
func TestReap_anotherServers404IsNoAnswer_S8_3(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/kube-system") {
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprint(rw, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":"uid-of-kube-system"}}`)
			return
		}
		http.NotFound(rw, r)
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, record("team-b", "b"))
	w.live = client.CoreV1()
	w.run().pass(30 * time.Minute)
	w.mustHave("after half an hour", "team-b/b")
}

func TestReap_notWhenTheClusterIsAnotherOne_S8_3(t *testing.T) {
	w := newWorld(t, record("team-a", "a"), record("team-b", "b"))
	w.cluster = "uid of the cluster before"
	r := w.run()
	r.pass(time.Hour)
	w.mustHave("in another cluster", "team-a/a", "team-b/b")
	w.mu.Lock()
	w.cluster = "uid-of-kube-system" // kubizone adopt-cluster
	w.mu.Unlock()
	r.pass(10 * time.Minute)
	w.mustHave("ten minutes after the adoption: what was seen before does not count", "team-a/a", "team-b/b")
	r.pass(2 * time.Minute)
	w.mustHave("once it was seen for ten minutes", "team-a/a")
}

func TestReap_aClusterThatCouldNotBeAskedStartsOver_S8_3(t *testing.T) {
	w := newWorld(t, record("team-b", "b"))
	var mu sync.Mutex
	away := false
	w.onGet("kube-system", func() (*corev1.Namespace, error) {
		mu.Lock()
		defer mu.Unlock()
		if away {
			return nil, apierrors.NewServiceUnavailable("restarting")
		}
		return nil, nil
	})
	set := func(v bool) { mu.Lock(); away = v; mu.Unlock() }
	r := w.run()
	r.pass(6 * time.Minute)
	set(true)
	r.pass(2 * time.Minute)
	set(false)
	r.pass(10 * time.Minute)
	w.mustHave("eight minutes after the next 404", "team-b/b")
	r.pass(2 * time.Minute)
	w.mustHave("ten minutes after it")
}

// A control plane made anew answers with another UID in the middle of the ten minutes.
func TestReap_aRebuiltControlPlaneWipesNothing_S8_3(t *testing.T) {
	w := newWorld(t, record("team-a", "a"), record("team-b", "b"))
	r := w.run()
	r.pass(8 * time.Minute)
	rebuilt := namespace("kube-system")
	rebuilt.UID = "another"
	w.onGet("kube-system", func() (*corev1.Namespace, error) { return rebuilt, nil })
	if err := w.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("namespaces"), "", "team-a"); err != nil {
		t.Fatal(err)
	}
	r.pass(2 * time.Hour)
	w.mustHave("behind a rebuilt control plane", "team-a/a", "team-b/b")
}

func TestReap_notWhenTheClusterCannotBeAsked_S8_3(t *testing.T) {
	for name, answer := range map[string]func() (*corev1.Namespace, error){
		"no kube-system": func() (*corev1.Namespace, error) {
			return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), "kube-system")
		},
		"an error": func() (*corev1.Namespace, error) { return nil, apierrors.NewServiceUnavailable("restarting") },
		"no UID in it": func() (*corev1.Namespace, error) {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, record("team-b", "b"))
			w.onGet("kube-system", answer)
			w.run().pass(time.Hour)
			w.mustHave("after an hour", "team-b/b")
			if w.cluster != "" {
				t.Errorf("the store belongs to %q now", w.cluster)
			}
		})
	}
}

func TestReap_notOnAListThatCannotBeWhole_S8_3(t *testing.T) {
	for name, missing := range map[string][]string{"empty": {"kube-system", "team-a"}, "without kube-system": {"kube-system"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, record("team-a", "a"), record("team-b", "b"))
			w.onGet("kube-system", func() (*corev1.Namespace, error) { return namespace("kube-system"), nil })
			for _, m := range missing { // from the list; the live answer stays
				if err := w.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("namespaces"), "", m); err != nil {
					t.Fatal(err)
				}
			}
			w.run().pass(time.Hour)
			w.mustHave("after an hour", "team-a/a", "team-b/b")
			if n := w.gets("team-b"); n != 0 {
				t.Errorf("%d live questions about team-b: such a list is no reason to ask", n)
			}
		})
	}
}

func TestReap_atMostFivePercentOfTheNamespacesAnHour_S8_3(t *testing.T) {
	const all, replicas = 100, 3
	var objects []runtime.Object
	for i := range all {
		objects = append(objects, record(fmt.Sprintf("gone-%03d", i), fmt.Sprintf("r-%03d", i)))
	}
	w := newWorld(t, objects...)
	r := w.run()
	for range replicas - 1 {
		w.run()
	}
	step := func(d time.Duration) {
		for ; d > 0; d -= 2 * time.Minute {
			w.looked(replicas)
			r.clock.Step(2 * time.Minute)
		}
		w.looked(replicas)
	}
	w.looked(replicas)
	step(10 * time.Minute)
	before := len(w.left())
	for hour := range 3 {
		step(time.Hour)
		now := len(w.left())
		if removed := before - now; removed > 5 || removed < 4 {
			t.Errorf("hour %d: %d of %d namespaces emptied by %d replicas, want at most 5 and some", hour, removed, all, replicas)
		}
		before = now
	}
}

func TestReap_whatCannotBeRemovedTakesNoTurns_S8_1(t *testing.T) {
	protected, leaving := zone("stuck", "protected"), record("stuck", "leaving")
	protected.Spec.DeletionProtection = true
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: time.Now()}, []string{"kubi.zone/delivery"}
	w := newWorld(t, protected, leaving, record("team-b", "b"))
	w.run().pass(10 * time.Minute)
	w.mustHave("after ten minutes", "stuck/leaving", "stuck/protected")
	if w.turns != 1 {
		t.Errorf("%d turns taken, want one, by team-b", w.turns)
	}
}

func TestReap_stopsWhenTheNamespaceIsBack_S8_3(t *testing.T) {
	var objects []runtime.Object
	for i := range 250 {
		objects = append(objects, record("team-b", fmt.Sprintf("r-%03d", i)))
	}
	w := newWorld(t, objects...)
	var mu sync.Mutex
	deleted := 0
	w.objects.PrependReactor("delete", "records", func(clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		deleted++
		return false, nil, nil
	})
	w.onGet("team-b", func() (*corev1.Namespace, error) {
		mu.Lock()
		defer mu.Unlock()
		if deleted > 0 {
			return namespace("team-b"), nil
		}
		return nil, nil
	})
	w.run().pass(time.Hour)
	if n := len(w.left()); n != 150 {
		t.Errorf("%d records left of 250, want what was not yet removed when it was asked for again", n)
	}
}

// Two replicas, or a user, remove the same: what is gone already is no failure, and what is another object by now
// stays. Of a zone that stays the Delegations stay: what others have there goes with the zone, and not before. What
// is in force nowhere goes.
func TestReap_leavesTheDelegationsOfAZoneThatStays_S8_3(t *testing.T) {
	protected := zone("gone", "protected")
	protected.Spec.DeletionProtection = true
	inForce := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: "gone", Name: "in-force"}}
	inForce.Status.ZoneRef = &v1alpha1.AdoptingZone{Namespace: "gone", Name: "protected", UID: "u"}
	waits := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: "gone", Name: "waits"}}
	w := newWorld(t, protected, inForce, waits)
	w.run().pass(10 * time.Minute)
	w.mustHave("after ten minutes", "gone/in-force", "gone/protected")
}

// S11.1: servers go with their namespace, a cluster before its instances.
func TestReap_removesServers_S11_1(t *testing.T) {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name)}
	}
	w := newWorld(t, record("team-b", "b"), &bind9.Bind9Cluster{ObjectMeta: meta("team-b", "edge")}, &bind9.Bind9Instance{ObjectMeta: meta("team-b", "edge-primary-0")},
		&bind9.Bind9Cluster{ObjectMeta: meta("team-a", "edge")})
	w.run().pass(10 * time.Minute)
	w.mustHave("after ten minutes", "team-a/edge")
	var deleted []string
	for _, a := range w.objects.Actions() {
		if d, ok := a.(clienttesting.DeleteActionImpl); ok {
			deleted = append(deleted, d.GetResource().Resource)
		}
	}
	if want := []string{"records", "bind9clusters", "bind9instances"}; !slices.Equal(deleted, want) {
		t.Errorf("deleted %q, want %q", deleted, want)
	}
}

func TestReap_isIdempotent_S8_3(t *testing.T) {
	w := newWorld(t, record("team-b", "a"), record("team-b", "b"), record("team-b", "c"), record("team-b", "d"))
	w.objects.PrependReactor("delete", "records", func(a clienttesting.Action) (bool, runtime.Object, error) {
		resource := v1alpha1.Resource("records")
		switch a.(clienttesting.DeleteAction).GetName() {
		case "a":
			return true, nil, apierrors.NewNotFound(resource, "a")
		case "b":
			return true, nil, apierrors.NewConflict(resource, "b", errors.New("the UID in the precondition is another"))
		case "c":
			return true, nil, apierrors.NewInternalError(errors.New("etcd"))
		}
		return false, nil, nil
	})
	w.run().pass(10 * time.Minute)
	w.mustHave("after ten minutes", "team-b/a", "team-b/b", "team-b/c")
}

// A namespace made anew is there: what is in it is its.
func TestReap_aNamespaceMadeAnewIsNotGone_S8_3(t *testing.T) {
	w := newWorld(t, record("team-a", "a"))
	r := w.run()
	namespaces := corev1.SchemeGroupVersion.WithResource("namespaces")
	if err := w.kube.Tracker().Delete(namespaces, "", "team-a"); err != nil {
		t.Fatal(err)
	}
	anew := namespace("team-a")
	anew.UID = "another"
	if err := w.kube.Tracker().Create(namespaces, anew, ""); err != nil {
		t.Fatal(err)
	}
	r.pass(time.Hour)
	w.mustHave("after an hour", "team-a/a")
}

func TestRun_looksSoonAfterANamespaceIsDeleted(t *testing.T) {
	w := newWorld(t, record("team-a", "a"))
	r := w.run()
	if err := w.kube.CoreV1().Namespaces().Delete(t.Context(), "team-a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.looked(2) // it waits for what the deletion needs, beside the ordinary wait
	w.clock.Step(10 * time.Second)
	for deadline := time.Now().Add(time.Minute); w.gets("team-a") == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no look after the deletion")
		}
	}
	w.mustHave("right after the deletion", "team-a/a")
	w.looked(1)
	for range 6 {
		r.pass(2 * time.Minute)
	}
	w.mustHave("after twelve minutes")
}

func TestConfig_saysEveryFault(t *testing.T) {
	_, err := reaper.New(reaper.Config{})
	for _, want := range []string{"Informer", "Live", "Objects", "Store"} {
		if err == nil || !strings.Contains(err.Error(), want+" is required") {
			t.Errorf("%v does not say that %s is required", err, want)
		}
	}
}
